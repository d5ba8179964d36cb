/** Texts and values as they are, in full if somebody wants that: folded, to be copied, values as a tree. */

import { announce, fill, h } from "../../dom.js";
import { count, plural } from "../../format.js";

const FOLDED_CHARACTERS = 900;
const FOLDED_LINES = 14;
const OPEN_ENTRIES = 12;
const SHOWN_ENTRIES = 200;
const LINE_CHARACTERS = 80;

/** A text, of which the beginning is shown when it is long. */
export function longText(text, { name = "text", className = "" } = {}) {
  if (!text.trim()) return h("p", { class: "quiet" }, "Nothing.");
  const short = folded(text);
  const shown = h("pre", { class: `text ${className}` }, short);
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
    return `Show all ${count(text.length)} characters`;
  }

  function toggle() {
    const open = shown.classList.toggle("open");
    fill(shown, open ? text : short);
    fill(more, open ? "Show less" : all());
  }
}

function folded(text) {
  const lines = text.split("\n", FOLDED_LINES + 1);
  const byLines = lines.length > FOLDED_LINES ? lines.slice(0, FOLDED_LINES).join("\n") : text;
  const short = byLines.length > FOLDED_CHARACTERS ? byLines.slice(0, FOLDED_CHARACTERS) : byLines;
  // To hide a last few words helps nobody.
  return text.length - short.length < FOLDED_CHARACTERS / 6 ? text : `${short}…`;
}

/** A button that copies; `text()` gives what. */
export function copyButton(text, name) {
  return h("button", { type: "button", class: "plain", "aria-label": `Copy the ${name}`, on: { click: copy } }, "Copy");

  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      announce("Copied.");
    } catch {
      announce("The browser does not let this page copy.");
    }
  }
}

/** A value as a tree that folds; what is folded is made when it is opened. */
export function jsonTree(value, { name = "value" } = {}) {
  return h("div", { class: "json" },
    node(null, value, true),
    h("div", { class: "row" }, copyButton(() => JSON.stringify(value, null, 2), name)),
  );
}

function node(key, value, open = false) {
  const label = key === null ? null : h("span", { class: "key" }, `${key}: `);
  if (value === null || typeof value !== "object") return h("div", { class: "leaf" }, label, leaf(value));
  const entries = Array.isArray(value) ? value.map((each, index) => [index, each]) : Object.entries(value);
  if (!entries.length) return h("div", { class: "leaf" }, label, Array.isArray(value) ? "[]" : "{}");
  const inside = h("div", { class: "inside" });
  const about = Array.isArray(value)
    ? plural(entries.length, "entry", "entries")
    : `{ ${entries
        .map(([name]) => name)
        .join(", ")
        .slice(0, LINE_CHARACTERS)} }`;
  const details = h("details", {}, h("summary", {}, label, h("span", { class: "quiet" }, about)), inside);
  details.addEventListener("toggle", () => details.open && unfold(inside, entries));
  if (open && entries.length <= OPEN_ENTRIES) {
    unfold(inside, entries);
    details.open = true;
  }
  return details;
}

function unfold(inside, entries, from = 0) {
  if (!from && inside.firstChild) return;
  inside.append(...entries.slice(from, from + SHOWN_ENTRIES).map(([key, value]) => node(key, value)));
  const next = from + SHOWN_ENTRIES;
  if (next >= entries.length) return;
  const more = h(
    "button",
    {
      type: "button",
      class: "plain",
      on: {
        click: () => {
          more.remove();
          unfold(inside, entries, next);
        },
      },
    },
    `Show more of ${count(entries.length)}`,
  );
  inside.append(more);
}

function leaf(value) {
  const kind = value === null ? "null" : typeof value;
  if (kind !== "string") return h("span", { class: `value ${kind}` }, String(value));
  if (value.length > FOLDED_CHARACTERS || value.includes("\n")) return longText(value);
  return h("span", { class: "value string" }, JSON.stringify(value));
}
