/** JSON as a tree: what is small stands open, what is large is made when it is opened. */

import { h } from "./dom.js";
import { plural } from "./format.js";

const OPEN_UP_TO = 12;
const SHOWN_AT_ONCE = 200;

/**
 * A tree of a value. `name` is what it is of, for screen readers; `noteOf(pointer)` gives what is said beside a value,
 * by its JSON pointer (RFC 6901), or null.
 */
export function jsonTree(value, { name = "JSON", noteOf = () => null } = {}) {
  return h("div", { class: "json", role: "group", "aria-label": name }, node(null, value, "", { noteOf, depth: 0 }));
}

function node(key, value, pointer, how) {
  const label = key === null ? null : [h("span", { class: "json-key" }, String(key)), ": "];
  const note = how.noteOf(pointer);
  if (value === null || typeof value !== "object") return h("div", { class: "json-line" }, label, leaf(value), note);
  const entries = Object.entries(value);
  const words = h("span", { class: "quiet" }, Array.isArray(value)
    ? `[ ${plural(entries.length, "item")} ]` : `{ ${plural(entries.length, "field")} }`);
  if (!entries.length) return h("div", { class: "json-line" }, label, words, note);
  const details = h("details", {}, h("summary", {}, label, words, note));
  if (how.depth === 0 || (how.depth < 3 && entries.length <= OPEN_UP_TO)) {
    details.append(children(entries, pointer, how));
    details.open = true;
  } else details.addEventListener("toggle", () => details.append(children(entries, pointer, how)), { once: true });
  return details;
}

function children(entries, pointer, how) {
  const inside = h("div", { class: "json-inside" });
  const inner = { ...how, depth: how.depth + 1 };
  const more = (from) => {
    const part = entries.slice(from, from + SHOWN_AT_ONCE);
    for (const [key, value] of part) inside.append(node(key, value, below(pointer, key), inner));
    const rest = entries.length - from - part.length;
    if (rest > 0) inside.append(h("button", { class: "plain", on: { click: goOn } }, `${rest} more`));

    function goOn({ target }) {
      target.remove();
      more(from + SHOWN_AT_ONCE);
    }
  };
  more(0);
  return inside;
}

function below(pointer, key) {
  return `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function leaf(value) {
  const kind = value === null ? "null" : typeof value;
  return h("span", { class: `json-${kind}` }, kind === "string" ? `"${value}"` : String(value));
}
