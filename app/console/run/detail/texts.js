/** Texts and values as they are, in full if somebody wants that: folded, and to be copied. */

import { copy } from "../../clipboard.js";
import { fill, h } from "../../dom.js";
import { beginning, count } from "../../format.js";
import { jsonTree } from "../../json_tree.js";

const FOLDED_CHARACTERS = 900;
const FOLDED_LINES = 14;
const SCROLLS_FROM_CHARACTERS = 400;

/** A text, of which the beginning is shown when it is long. */
export function longText(text, { name = "text", className = "" } = {}) {
  if (!text.trim()) return h("p", { class: "quiet" }, "Nothing.");
  const short = folded(text);
  const shown = h("pre", { class: `text ${className}`, dir: "auto", ...reachable(text, name) }, short);
  const more =
    short.length < text.length && h("button", { type: "button", class: "plain", on: { click: toggle } }, all());
  return h("div", { class: "long" },
    shown,
    h("div", { class: "row" },
      more,
      copyButton(() => text, name),
    ),
  );

  function all() {
    return `Show all ${count(Array.from(text).length)} characters`;
  }

  function toggle() {
    const open = shown.classList.toggle("open");
    fill(shown, open ? text : short);
    fill(more, open ? "Show less" : all());
  }
}

/** What a text needs so that the keyboard scrolls it; a short one is not in the way of Tab. */
export function reachable(text, name) {
  if (text.length < SCROLLS_FROM_CHARACTERS && text.split("\n").length < FOLDED_LINES) return {};
  return { tabindex: 0, role: "group", "aria-label": name.replace(/^./, (letter) => letter.toUpperCase()) };
}

function folded(text) {
  const lines = text.split("\n", FOLDED_LINES + 1);
  const byLines = lines.length > FOLDED_LINES ? lines.slice(0, FOLDED_LINES).join("\n") : text;
  const short = beginning(byLines, FOLDED_CHARACTERS);
  // To hide a last few words helps nobody.
  return text.length - short.length < FOLDED_CHARACTERS / 6 ? text : `${short}…`;
}

/** A button that copies; `text()` gives what. */
export function copyButton(text, name) {
  const click = () => copy(text());
  return h("button", { type: "button", class: "plain", "aria-label": `Copy the ${name}`, on: { click } }, "Copy");
}

/** A value as a tree, to be copied as JSON. */
export function valueTree(value, name = "value") {
  const copied = () => JSON.stringify(value, null, 2);
  return h("div", { class: "tree" }, jsonTree(value, { name }), h("div", { class: "row" }, copyButton(copied, name)));
}
