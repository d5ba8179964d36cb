/** What is in a file: text, Markdown, JSON, CSV and differences are shown; anything else is for saving. */

import { send } from "../api.js";
import { h } from "../dom.js";
import { bytes, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { prose } from "../markdown.js";

const SHOWN_BYTES = 400_000;
const SHOWN_ROWS = 500;
const KINDS = [
  ["markdown", /^text\/markdown$/, /\.(md|markdown)$/i],
  ["json", /^application\/(json|.*\+json)$/, /\.(json|sarif)$/i],
  ["table", /^text\/(csv|tab-separated-values)$/, /\.(csv|tsv)$/i],
  ["diff", /^text\/x-(diff|patch)$/, /\.(diff|patch)$/i],
  ["text", /^text\/|^application\/(x-ndjson|xml|yaml|x-yaml|toml|sql|javascript)$/, /\.(txt|log|ya?ml|toml|py|js|ts|sql|html|xml|ini|cfg|rst)$/i],
];

/** Whether there is something to show of a file. */
export function isShown(file) {
  return kindOf(file) !== null;
}

function kindOf({ name, media_type: type }) {
  const found = KINDS.find(([, , ends]) => ends.test(name)) ?? KINDS.find(([, types]) => types.test(type));
  return found?.[0] ?? null;
}

/** A file as it is shown; of a long one its beginning. */
export async function previewOf(file) {
  const { text, cut } = await beginning(file.url);
  return [contentOf(kindOf(file), text, file, cut), cut && h("p", { class: "quiet small" }, `Only the first ${bytes(SHOWN_BYTES)} are shown. Download it to see all of it.`)];
}

/** As much of a text as is shown; the rest of a long one is never read. */
async function beginning(url) {
  const reader = (await send(url)).body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), cut: false };
    text += decoder.decode(value, { stream: true });
    if (text.length <= SHOWN_BYTES) continue;
    reader.cancel();
    return { text: text.slice(0, SHOWN_BYTES), cut: true };
  }
}

function contentOf(kind, text, { name }, cut) {
  if (kind === "markdown") return prose(text);
  if (kind === "table") return tableOf(text, name.toLowerCase().endsWith(".tsv") ? "\t" : ",");
  if (kind === "diff") return h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": name }, text.split("\n").map(diffLine));
  if (kind === "json" && !cut) {
    try {
      return jsonTree(JSON.parse(text), { name });
    } catch {
      // It is called JSON and is none: it is text.
    }
  }
  return h("pre", { tabindex: "0", role: "group", "aria-label": name }, text);
}

function diffLine(line) {
  const sign = /^(\+\+\+|---|diff |index )/.test(line) ? "head" : line.startsWith("@@") ? "hunk" : line[0] === "+" || line[0] === "-" ? line[0] : " ";
  return h("span", { class: "line", data: { sign } }, line || " ");
}

function tableOf(text, separator) {
  const rows = cellsOf(text, separator);
  const [head = [], ...body] = rows;
  const numbers = head.map((_, at) => body.slice(0, SHOWN_ROWS).every((row) => /^-?[\d.,]* ?%?$/.test(row[at] ?? "")));
  const number = (at) => (numbers[at] ? "number" : null);
  return [
    h("p", { class: "quiet small" }, `${plural(body.length, "row")}${body.length > SHOWN_ROWS ? `, of which the first ${SHOWN_ROWS} are shown` : ""}`),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {},
      h("thead", {}, h("tr", {}, head.map((cell, at) => h(cell ? "th" : "td", { scope: cell ? "col" : null, class: number(at) }, cell)))),
      h("tbody", {}, body.slice(0, SHOWN_ROWS).map((row) => h("tr", {}, row.map((cell, at) => h("td", { class: number(at) }, cell))))))),
  ];
}

/** The cells of comma-separated values (RFC 4180), row by row. */
export function cellsOf(text, separator = ",") {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quoted) {
      if (char !== "\"") cell += char;
      else if (text[at + 1] === "\"") {
        cell += "\"";
        at += 1;
      } else quoted = false;
    } else if (char === "\"" && cell === "") quoted = true;
    else if (char === separator || char === "\n") {
      row.push(cell.endsWith("\r") ? cell.slice(0, -1) : cell);
      cell = "";
      if (char === "\n") {
        rows.push(row);
        row = [];
      }
    } else cell += char;
  }
  if (cell || row.length) rows.push([...row, cell]);
  return rows;
}
