/** What went into a run and what came out of it as files, and what webhooks were told. `?artifact=review.md` shows one. */

import { announce, fill, h, set } from "../dom.js";
import { download, get } from "../api.js";
import { bytes, plural } from "../format.js";
import { failure, here } from "../router.js";
import { deliveriesView } from "./deliveries.js";
import { isShown, previewOf } from "./preview.js";
import { TaskLinks } from "./task_links.js";

export function filesView(store) {
  const tasks = new TaskLinks(store);
  const artifacts = h("div");
  const inputs = h("div");
  const preview = h("section", { class: "panel preview", hidden: true, "aria-live": "polite" });
  const deliveries = deliveriesView(store);
  const element = h("div", { class: "stack files" }, panel("Artifacts", artifacts), panel("Inputs", inputs), preview, deliveries.element);
  let looked = null;
  let shown = null;
  let listed = { artifacts: [], inputs: [] };
  return { element, draw };

  function draw() {
    const done = store.run.progress.tasks.succeeded;
    const state = `${store.run.status}/${done}`;
    if (looked !== state) {
      looked = state;
      look();
    }
    tasks.draw();
    deliveries.draw();
    showChosen();
  }

  async function look() {
    try {
      const [files, sent] = await Promise.all(["artifacts", "inputs"].map((what) => get(`/v1/runs/${store.id}/${what}`)));
      listed = { artifacts: files.data, inputs: sent.data };
      tasks.clear();
      fill(artifacts, listed.artifacts.length ? artifactsOf(listed.artifacts, tasks) : h("p", { class: "quiet" }, "The run has handed over no file. Those of a task come when it has succeeded, those of the answer at the end."));
      fill(inputs, listed.inputs.length ? inputsOf(listed.inputs) : h("p", { class: "quiet" }, "The job came without inputs."));
      showChosen();
    } catch (error) {
      fill(artifacts, failure(error, look));
    }
  }

  function showChosen() {
    const [kind, name] = ["artifact", "input"].map((each) => [each, store.query.get(each)]).find(([, value]) => value) ?? [];
    const file = listed[`${kind}s`]?.find((each) => each.name === name);
    const wanted = file ? file.url : null;
    if (shown === wanted) return;
    shown = wanted;
    preview.hidden = !file;
    if (file) show(file);
  }

  async function show(file) {
    fill(preview, h("header", {}, h("h2", {}, file.name), h("button", { on: { click: () => store.select({ artifact: null, input: null }) } }, "Close")), h("p", { class: "quiet" }, "It is read …"));
    try {
      const content = await previewOf(file);
      if (shown === file.url) fill(preview, preview.firstChild, content);
    } catch (error) {
      if (shown === file.url) fill(preview, preview.firstChild, failure(error, () => show(file)));
    }
  }
}

function panel(title, content) {
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, title)), content);
}

function artifactsOf(files, tasks) {
  return tableOf("Artifacts", ["Size", "Of"], files.map((file) => ({
    file, kind: "artifact", cells: [h("td", { class: "number" }, bytes(file.bytes)), h("td", {}, file.task ? tasks.to(file.task) : "the answer")],
  })));
}

function inputsOf(files) {
  return tableOf("Inputs", ["Length"], files.map((file) => ({ file, kind: "input", cells: [h("td", { class: "number" }, plural(file.characters, "character"))] })));
}

function tableOf(label, columns, rows) {
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": label }, h("table", {},
    h("thead", {}, h("tr", {}, ["Name", "Media type", ...columns].map((name) => h("th", { scope: "col", class: name === "Size" || name === "Length" ? "number" : null }, name)), h("td", {}))),
    h("tbody", {}, rows.map(({ file, kind, cells }) => h("tr", {},
      h("th", { scope: "row", class: "name" }, isShown(file) ? h("a", { href: here({ [kind]: file.name, [kind === "input" ? "artifact" : "input"]: null, view: "files" }) }, file.name) : file.name),
      h("td", {}, h("code", {}, file.media_type)), cells,
      h("td", { class: "number" }, h("button", { "aria-label": `Download ${file.name}`, on: { click: ({ target }) => save(file, target) } }, "Download")))))));
}

async function save({ url, name }, button) {
  set(button, { disabled: true });
  try {
    await download(url, name);
  } catch (error) {
    announce(error.message);
  }
  set(button, { disabled: false });
}
