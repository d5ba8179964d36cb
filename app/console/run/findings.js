/** Findings: points that workers have found, each at a place in an input, with what became of them. */

import { fill, h } from "../dom.js";
import { plural } from "../format.js";
import { prose } from "../markdown.js";
import { lookOf, leftOutFor } from "./words.js";

const SEVERITIES = [["critical", "failed", "✕"], ["warning", "partial", "▲"], ["info", "running", "●"]];

/** Whether the data of a result are findings. */
export function holdsFindings(data) {
  return Array.isArray(data?.findings) && data.findings.every((each) => each?.severity && each?.location);
}

/** The findings that are left, to be narrowed to some severities, and those that were left out with the reason. */
export function findingsOf({ findings, suppressed = [] }, tasks) {
  const wanted = new Set(SEVERITIES.map(([severity]) => severity));
  const list = h("div", { class: "stack" });
  const show = () => fill(list, findings.filter(({ severity }) => wanted.has(severity)).map((finding) => findingOf(finding, tasks)));
  const filter = SEVERITIES.map(([severity, , sign]) => {
    const number = findings.filter((each) => each.severity === severity).length;
    const button = h("button", { "aria-pressed": "true", disabled: !number, data: { severity }, on: { click: () => {
      if (!wanted.delete(severity)) wanted.add(severity);
      button.setAttribute("aria-pressed", String(wanted.has(severity)));
      show();
    } } }, `${sign} ${number} ${severity}`);
    return button;
  });
  show();
  return h("section", { class: "panel findings" },
    h("header", {}, h("h2", {}, findings.length ? plural(findings.length, "finding") : "No findings"), findings.length > 0 && h("div", { class: "row", role: "group", "aria-label": "Severities that are shown" }, filter)),
    findings.length ? list : h("p", { class: "quiet" }, "Nothing was found that is sure enough and stands where it is said to stand."),
    suppressed.length > 0 && h("details", { class: "suppressed" }, h("summary", {}, `${plural(suppressed.length, "finding")} left out`),
      h("div", { class: "stack" }, suppressed.map((finding) => findingOf(finding, tasks)))));
}

function findingOf(finding, tasks) {
  const { id, severity, category, message, location, evidence, suggestion, confidence, verdict, note, reason, detail } = finding;
  const [, state, sign] = SEVERITIES.find(([name]) => name === severity) ?? [severity, "queued", "●"];
  return h("article", { class: "finding", data: { state, finding: id } },
    h("header", { class: "row" }, h("span", { class: "state" }, `${sign} ${severity}`), h("code", { class: "place" }, placeOf(location)),
      h("span", { class: "quiet small push" }, [category, `${confidence} % sure`, verdict && lookOf(verdict)].filter(Boolean).join(" · "))),
    prose(message, { top: 4 }),
    evidence && h("pre", { tabindex: "0", role: "group", "aria-label": "Evidence" }, h("code", {}, evidence)),
    suggestion && h("div", {}, h("p", { class: "quiet small" }, "What could be done"), prose(suggestion, { top: 4 })),
    reason && h("p", { class: "small" }, h("span", { class: "quiet" }, "Left out: "), `${leftOutFor(reason)}${detail ? `. ${detail}` : ""}`),
    note && h("p", { class: "quiet small" }, note),
    h("p", { class: "small" }, h("span", { class: "quiet" }, `${id}, found by `), tasks.toAll(finding.tasks ?? [])));
}

/** A place in words: `src/a.py:12–14`, with its input where that is another name. */
export function placeOf({ input, path, line, end_line: end, side }) {
  const lines = end && end !== line ? `${line}–${end}` : line;
  return `${path ?? input}:${lines}${side === "old" ? " (removed)" : ""}`;
}
