/** The inputs of a job: files that are dropped or chosen, and texts that are pasted. Their names are what workers see. */

import { announce, fill, h, say } from "../dom.js";
import { bytes, plural } from "../format.js";
import { dropped, inputOf, sizeOf } from "./contents.js";

const AT_MOST = 50;

/** The part of the form; `changed()` is told of every change to `draft.inputs`. */
export function inputsPart(draft, fields, changed) {
  const list = h("ul", { class: "inputs plain-list" });
  const files = h("input", { type: "file", multiple: true, class: "unseen", id: "files", on: { change: () => take([...files.files].map((file) => ({ file, path: file.name }))) } });
  const total = h("p", { class: "hint", role: "status" });
  const wrong = h("p", { class: "wrong", hidden: true });
  const paste = h("button", { type: "button", on: { click: addText } }, "Paste a text");
  const zone = h("div", { class: "drop" },
    h("p", {}, h("label", { for: "files", class: "button" }, "Choose files"), files, " ", paste),
    h("p", { class: "hint" }, "or drop files and folders here. Text, tables (CSV, JSON, Parquet), PDF and Word."));
  const element = h("fieldset", { class: "panel stack" }, h("legend", {}, "Inputs"), zone, wrong, list, total);
  fields.place("/inputs", paste, wrong);
  for (const name of ["dragenter", "dragover"]) element.addEventListener(name, over);
  for (const name of ["dragleave", "drop"]) element.addEventListener(name, () => delete element.dataset.over);
  element.addEventListener("drop", async (event) => {
    event.preventDefault();
    take(await dropped(event.dataTransfer));
  });
  draw();
  return { element, draw };

  function over(event) {
    event.preventDefault();
    element.dataset.over = "";
  }

  async function take(found) {
    for (const { file, path } of found) {
      const known = draft.inputs.findIndex((input) => input.name === path && input.lost);
      const input = await inputOf(file, known < 0 ? free(path) : path);
      if (known < 0) draft.inputs.push(input);
      else draft.inputs[known] = input;
    }
    files.value = "";
    if (found.length) announce(`${plural(found.length, "file")} added.`);
    draw();
    changed();
  }

  function addText() {
    draft.inputs.push({ name: free("notes.md"), text: "" });
    draw();
    changed();
    list.lastElementChild.querySelector("textarea").focus();
  }

  /** The name, or one like it that no other input has. */
  function free(name) {
    const names = new Set(draft.inputs.map((input) => input.name));
    const [, stem, ending] = /^(.*?)(\.[^./]*)?$/s.exec(name);
    for (let number = 1; ; number += 1) {
      const tried = number === 1 ? name : `${stem}-${number}${ending ?? ""}`;
      if (!names.has(tried)) return tried;
    }
  }

  function draw() {
    for (let place = 0; place < AT_MOST * 2; place += 1) fields.drop(`/inputs/${place}`);
    fill(list, draft.inputs.map(row));
    sum();
  }

  function row(input, place) {
    const size = h("span", { class: "quiet numbers size" });
    const wrongHere = h("p", { class: "wrong", id: `input-${place}-wrong`, hidden: true });
    const name = h("input", {
      value: input.name, "aria-label": `Name of input ${place + 1}`, class: "mono", spellcheck: "false", "aria-describedby": wrongHere.id,
      on: { input: () => { Object.assign(input, { name: name.value, mediaType: undefined }); changed(); } },
    });
    const text = input.text !== undefined && h("textarea", {
      value: input.text, class: "mono", "aria-label": `Text of input ${place + 1}`, rows: 4, spellcheck: "false",
      on: { input: () => { input.text = text.value; tell(); sum(); changed(); } },
    });
    const remove = h("button", { type: "button", class: "plain", "aria-label": `Remove ${input.name}`, on: { click: () => takeOut(place) } }, "Remove");
    fields.place(`/inputs/${place}`, name, wrongHere);
    tell();
    return h("li", {}, h("div", { class: "row" }, name, size, remove), wrongHere,
      text && (input.text.length < 2_000 ? text : h("details", {}, h("summary", { class: "quiet" }, "Its text"), text)));

    function tell() {
      say(size, input.lost ? "has to be given again" : `${bytes(sizeOf(input))}${input.bytes ? ", as a file" : ""}`);
    }
  }

  function takeOut(place) {
    draft.inputs.splice(place, 1);
    draw();
    changed();
    paste.focus();
  }

  function sum() {
    const all = draft.inputs.reduce((sofar, input) => sofar + sizeOf(input), 0);
    say(total, draft.inputs.length ? `${plural(draft.inputs.length, "input")}, ${bytes(all)}. Workers know them by these names.` : "");
  }
}
