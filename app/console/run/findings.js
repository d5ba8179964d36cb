/** Findings: points that workers have found, each at a place in an input, with what became of them. */

import { fill, h, set } from "../dom.js";
import { plural } from "../format.js";
import { prose } from "../markdown.js";
import { leftOutFor, lookOf } from "./words.js";

const SEVERITIES = [["critical", "failed", "✕"], ["warning", "partial", "▲"], ["info", "running", "●"]];
const NONE = "Nothing was found that is sure enough and stands where it is said to stand.";

/** Whether the data of a result are findings. */
export function holdsFindings(data) {
  return Array.isArray(data?.findings) && data.findings.every((each) => each?.severity && each?.location);
}

/** The findings that are left, to be narrowed to some severities, and those that were left out with the reason. */
export function findingsOf({ findings, suppressed = [] }, tasks) {
  const wanted = new Set(SEVERITIES.map(([severity]) => severity));
  const list = h("div", { class: "stack" });
  const show = () => {
    const shown = findings.filter(({ severity }) => wanted.has(severity));
    fill(list, shown.map((finding) => findingOf(finding, tasks)));
  };
  show();
  const title = findings.length ? plural(findings.length, "finding") : "No findings";
  return h("section", { class: "panel findings" },
    h("header", {}, h("h2", {}, title), findings.length > 0 && filterOf(findings, wanted, show)),
    findings.length ? list : h("p", { class: "quiet" }, NONE),
    suppressed.length > 0 && h("details", { class: "suppressed" },
      h("summary", {}, `${plural(suppressed.length, "finding")} left out`),
      h("div", { class: "stack" }, suppressed.map((finding) => findingOf(finding, tasks)))));
}

/** A button for each severity, which shows or hides its findings. */
function filterOf(findings, wanted, show) {
  const buttons = SEVERITIES.map(([severity, , sign]) => {
    const number = findings.filter((each) => each.severity === severity).length;
    const words = `${sign} ${number} ${severity}`;
    return h("button", { "aria-pressed": "true", disabled: !number, data: { severity }, on: { click: toggle } }, words);
  });
  return h("div", { class: "row", role: "group", "aria-label": "Severities that are shown" }, buttons);

  function toggle({ currentTarget: button }) {
    const { severity } = button.dataset;
    if (!wanted.delete(severity)) wanted.add(severity);
    set(button, { "aria-pressed": String(wanted.has(severity)) });
    show();
  }
}

function findingOf(finding, tasks) {
  const { id, severity, message, location, evidence, suggestion, note } = finding;
  const [, state, sign] = SEVERITIES.find(([name]) => name === severity) ?? [severity, "queued", "●"];
  const found = { tabindex: "0", role: "group", "aria-label": "Evidence" };
  return h("article", { class: "finding", data: { state, finding: id } },
    h("header", { class: "row" },
      h("span", { class: "state" }, `${sign} ${severity}`), h("code", { class: "place" }, placeOf(location)),
      h("span", { class: "quiet small push" }, standingOf(finding))),
    prose(message, { top: 4 }),
    evidence && h("pre", found, h("code", {}, evidence)),
    suggestion && [h("p", { class: "quiet small" }, "What could be done"), prose(suggestion, { top: 4 })],
    whyLeftOut(finding),
    note && h("p", { class: "quiet small" }, note),
    h("p", { class: "small" }, h("span", { class: "quiet" }, `${id}, found by `), tasks.toAll(finding.tasks ?? [])));
}

function standingOf({ category, confidence, verdict }) {
  return [category, `${confidence} % sure`, verdict && lookOf(verdict)].filter(Boolean).join(" · ");
}

function whyLeftOut({ reason, detail }) {
  if (!reason) return null;
  const words = `${leftOutFor(reason)}${detail ? `. ${detail}` : ""}`;
  return h("p", { class: "small" }, h("span", { class: "quiet" }, "Left out: "), words);
}

/** A place in words: `src/a.py:12–14`. */
export function placeOf({ input, path, line, end_line: end, side }) {
  const lines = end && end !== line ? `${line}–${end}` : line;
  return `${path ?? input}:${lines}${side === "old" ? " (removed)" : ""}`;
}
