/** What is in a file: text, Markdown, JSON, CSV and differences are shown; anything else is for saving. */

import { send } from "../api.js";
import { h } from "../dom.js";
import { bytes, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { prose } from "../markdown.js";
import { tableOf } from "../tables.js";

const SHOWN_BYTES = 400_000;
const SHOWN_ROWS = 500;
const KINDS = [
  ["markdown", /^text\/markdown$/, /\.(md|markdown)$/i],
  ["json", /^application\/(json|.*\+json)$/, /\.(json|sarif)$/i],
  ["table", /^text\/(csv|tab-separated-values)$/, /\.(csv|tsv)$/i],
  ["diff", /^text\/x-(diff|patch)$/, /\.(diff|patch)$/i],
  ["text", /^text\/|^application\/(x-ndjson|xml|yaml|x-yaml|toml|sql|javascript)$/,
    /\.(txt|log|ya?ml|toml|py|js|ts|sql|html|xml|ini|cfg|rst)$/i],
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
  return [contentOf(kindOf(file), text, file, cut), cut
    && h("p", { class: "quiet small" },
    `Only the first ${bytes(SHOWN_BYTES)} are shown. Download it to see all of it.`)];
}

/** As much of a text as is shown; the rest of a long one is never read. */
async function beginning(url) {
  const reader = (await send(url, { limit: null })).body.getReader();
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
  if (kind === "table") return rowsOf(text, name.toLowerCase().endsWith(".tsv") ? "\t" : ",");
  const frame = { tabindex: "0", role: "group", "aria-label": name };
  if (kind === "diff") return h("pre", { class: "diff", ...frame }, text.split("\n").map(diffLine));
  if (kind === "json" && !cut) {
    try {
      return jsonTree(JSON.parse(text), { name });
    } catch {
      // It is called JSON and is none: it is text.
    }
  }
  return h("pre", frame, text);
}

function diffLine(line) {
  return h("span", { class: "line", data: { sign: signOf(line) } }, line || " ");
}

function signOf(line) {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return "head";
  if (line.startsWith("@@")) return "hunk";
  return line[0] === "+" || line[0] === "-" ? line[0] : " ";
}

function rowsOf(text, separator) {
  const [head = [], ...body] = cellsOf(text, separator);
  const shown = body.slice(0, SHOWN_ROWS);
  const number = (at) => shown.every((row) => /^-?[\d.,]* ?%?$/.test(row[at] ?? ""));
  const columns = head.map((name, at) => ({ name, number: number(at) }));
  const words = body.length > SHOWN_ROWS ? `, of which the first ${SHOWN_ROWS} are shown` : "";
  return [h("p", { class: "quiet small" }, `${plural(body.length, "row")}${words}`), tableOf("Rows", columns, shown)];
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
