/** What each task has brought, whatever became of the answer. */

import { h } from "../dom.js";
import { SIGNS, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { prose } from "../markdown.js";
import { percent, reasonOf } from "./words.js";

/** The results of tasks, as the run reports them; what is long is read when it is opened. */
export function outputsOf(outputs, tasks, { open = false } = {}) {
  if (!outputs.length) return null;
  const words = h("span", { class: "quiet" }, plural(outputs.length, "task"));
  return h("details", { class: "panel outputs", open },
    h("summary", {}, h("h2", {}, "What each task brought"), words),
    outputs.map((output) => outputOf(output, tasks)));
}

function outputOf(output, tasks) {
  const { task, status, summary, text, data = null, error, sources = [] } = output;
  const cut = output.omitted ? `, shortened by ${plural(output.omitted, "character")}` : "";
  const source = (each) => h("li", {}, h("code", {}, each));
  return h("article", { class: "output", data: { state: status } },
    headerOf(output, tasks),
    summary && h("p", {}, summary),
    error && h("p", { class: "wrong" }, `${reasonOf(error.code)}: ${error.message}`),
    text && text !== summary && folded(`The whole text${cut}`, () => prose(text, { top: 4 })),
    data !== null && folded("Its data", () => jsonTree(data, { name: `Data of ${task}` })),
    sources.length > 0 && folded(plural(sources.length, "source"), () => h("ul", {}, sources.map(source))));
}

function headerOf(output, tasks) {
  const { task, status, worker, confidence = null } = output;
  return h("header", { class: "row" },
    h("h3", {}, tasks.to(task)),
    h("span", { class: "state" }, `${SIGNS[status] ?? "○"} ${status}`),
    h("span", { class: "chip" }, worker),
    confidence !== null && h("span", { class: "quiet small numbers" }, `${percent(confidence)} sure`),
    warningsOf(output).map((words) => h("span", { class: "chip" }, words)));
}

function warningsOf(output) {
  return [
    output.partial && "stopped before its end",
    output.unverified && "on the worker's word alone",
    output.free_form && "not in the form asked for",
    output.instruction_like && "speaks like an instruction",
  ].filter(Boolean);
}

/** Something that is made when it is opened first. */
export function folded(words, make) {
  const details = h("details", {}, h("summary", {}, words));
  details.addEventListener("toggle", () => details.append(make()), { once: true });
  return details;
}
