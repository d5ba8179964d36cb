/** The files of a run: what went in, what came out, what webhooks were told. `?artifact=review.md` shows one. */

import { download, get } from "../api.js";
import { announce, fill, h, set } from "../dom.js";
import { bytes, plural } from "../format.js";
import { failure, here } from "../router.js";
import { tableOf } from "../tables.js";
import { deliveriesView } from "./deliveries.js";
import { isShown, previewOf } from "./preview.js";
import { TaskLinks } from "./task_links.js";

const NO_ARTIFACTS = "The run has handed over no file. Those of a task come when it has succeeded, those of the answer "
  + "at the end.";

export function filesView(store) {
  const tasks = new TaskLinks(store);
  const artifacts = h("div");
  const inputs = h("div");
  const preview = h("section", { class: "panel preview", hidden: true, "aria-live": "polite" });
  const deliveries = deliveriesView(store);
  const element = h("div", { class: "stack files" },
    panel("Artifacts", artifacts), panel("Inputs", inputs), preview, deliveries.element);
  let listed = { artifact: [], input: [] };
  let looked = null;
  let shown = null;
  return { element, draw };

  function draw() {
    const state = `${store.run.status}/${store.run.progress.tasks.succeeded}`;
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
      const lists = ["artifacts", "inputs"].map((what) => get(`/v1/runs/${store.id}/${what}`));
      const [files, sent] = await Promise.all(lists);
      listed = { artifact: files.data, input: sent.data };
      tasks.clear();
      fill(artifacts, files.data.length ? artifactsOf(files.data, tasks) : h("p", { class: "quiet" }, NO_ARTIFACTS));
      fill(inputs, sent.data.length ? inputsOf(sent.data) : h("p", { class: "quiet" }, "The job came without inputs."));
      showChosen();
    } catch (error) {
      fill(artifacts, failure(error, look));
    }
  }

  function showChosen() {
    const kind = ["artifact", "input"].find((each) => store.query.get(each));
    const file = kind && listed[kind].find((each) => each.name === store.query.get(kind));
    if (shown === (file?.url ?? null)) return;
    shown = file?.url ?? null;
    preview.hidden = !file;
    if (file) show(file);
  }

  async function show(file) {
    const close = h("button", { on: { click: () => store.select({ artifact: null, input: null }) } }, "Close");
    const header = h("header", {}, h("h2", {}, file.name), close);
    fill(preview, header, h("p", { class: "quiet" }, "It is read …"));
    const content = await previewOf(file).catch((error) => failure(error, () => show(file)));
    if (shown === file.url) fill(preview, header, content);
  }
}

function panel(title, content) {
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, title)), content);
}

function artifactsOf(files, tasks) {
  const rows = files.map((file) => [
    nameOf(file, "artifact"), h("code", {}, file.media_type), bytes(file.bytes), ofWhom(file, tasks), saveButton(file),
  ]);
  return tableOf("Artifacts", ["Name", "Media type", { name: "Size", number: true }, "Of", { number: true }], rows);
}

function ofWhom({ task }, tasks) {
  return task ? tasks.to(task) : "the answer";
}

function inputsOf(files) {
  const rows = files.map((file) => [
    nameOf(file, "input"), h("code", {}, file.media_type), plural(file.characters, "character"), saveButton(file),
  ]);
  return tableOf("Inputs", ["Name", "Media type", { name: "Length", number: true }, { number: true }], rows);
}

function nameOf(file, kind) {
  if (!isShown(file)) return file.name;
  const chosen = { artifact: null, input: null, [kind]: file.name, view: "files" };
  return h("a", { href: here(chosen) }, file.name);
}

function saveButton(file) {
  const label = `Download ${file.name}`;
  return h("button", { "aria-label": label, on: { click: ({ target }) => save(file, target) } }, "Download");
}

async function save({ url, name }, button) {
  set(button, { disabled: true });
  await download(url, name).catch((error) => announce(error.message));
  set(button, { disabled: false });
}
