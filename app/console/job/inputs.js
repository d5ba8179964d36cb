/** The inputs of a job: files that are dropped or chosen, and texts that are pasted. Workers know them by name. */

import { announce, fill, h, say } from "../dom.js";
import { bytes, plural } from "../format.js";
import { dropped, inputOf, sizeOf } from "./contents.js";
import { typed } from "./fields.js";

const LONG_TEXT = 2_000;
const TAKES = "or drop files and folders here. Text, tables (CSV, JSON, Parquet), PDF and Word.";

/** The part of the form; `changed()` is told of every change to `draft.inputs`. */
export function inputsPart(draft, fields, changed) {
  const list = h("ul", { class: "inputs plain-list" });
  const files = h("input", { type: "file", multiple: true, class: "unseen", id: "files" });
  const paste = h("button", { type: "button", on: { click: addText } }, "Paste a text");
  const total = h("p", { class: "hint", role: "status" });
  const wrong = fields.place("/inputs", paste);
  const element = h("fieldset", { class: "panel stack" }, h("legend", {}, "Inputs"),
    h("div", { class: "drop" },
      h("p", {}, h("label", { for: files.id, class: "button" }, "Choose files"), files, " ", paste),
      h("p", { class: "hint" }, TAKES)),
    wrong, list, total);
  files.addEventListener("change", () => take([...files.files].map((file) => ({ file, path: file.name }))));
  for (const name of ["dragenter", "dragover"]) element.addEventListener(name, over);
  for (const name of ["dragleave", "drop"]) element.addEventListener(name, () => delete element.dataset.over);
  element.addEventListener("drop", async (event) => {
    event.preventDefault();
    take(await dropped(event.dataTransfer));
  });
  draw();
  return { element };

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
    const [, stem, ending = ""] = /^(.*?)(\.[^./]*)?$/s.exec(name);
    let tried = name;
    for (let number = 2; names.has(tried); number += 1) tried = `${stem}-${number}${ending}`;
    return tried;
  }

  function draw() {
    fields.drop("/inputs");
    fill(list, draft.inputs.map(row));
    sum();
  }

  function row(input, place) {
    const size = h("span", { class: "quiet numbers size" });
    const resized = () => {
      say(size, sizeInWords(input));
      sum();
      changed();
    };
    const renamed = () => {
      input.mediaType = undefined; // The new name speaks for another one.
      changed();
    };
    const props = { class: "mono", spellcheck: "false", "aria-label": `Name of input ${place + 1}` };
    const name = typed("input", input, "name", renamed, props);
    const remove = h("button", { type: "button", class: "plain", "aria-label": `Remove ${input.name}` }, "Remove");
    remove.addEventListener("click", () => takeOut(place));
    say(size, sizeInWords(input));
    return h("li", {}, h("div", { class: "row" }, name, size, remove), fields.place(`/inputs/${place}`, name),
      input.text !== undefined && textOf(input, place, resized));
  }

  function textOf(input, place, resized) {
    const props = { class: "mono", rows: 4, spellcheck: "false", "aria-label": `Text of input ${place + 1}` };
    const text = typed("textarea", input, "text", resized, props);
    return input.text.length < LONG_TEXT ? text : h("details", {}, h("summary", { class: "quiet" }, "Its text"), text);
  }

  function takeOut(place) {
    draft.inputs.splice(place, 1);
    draw();
    changed();
    paste.focus();
  }

  function sum() {
    const all = draft.inputs.reduce((sofar, input) => sofar + sizeOf(input), 0);
    const number = draft.inputs.length;
    say(total, number ? `${plural(number, "input")}, ${bytes(all)}. Workers know them by these names.` : "");
  }
}

function sizeInWords(input) {
  if (input.lost) return "has to be given again";
  return `${bytes(sizeOf(input))}${input.bytes ? ", as a file" : ""}`;
}
