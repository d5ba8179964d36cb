/** How far an answer can be trusted: what it covers, how it was made, what a critic says of it. */

import { h } from "../dom.js";
import { facts } from "../facts.js";
import { plural } from "../format.js";
import { prose } from "../markdown.js";
import { percent, strategyOf, verdictOf } from "./words.js";

const LISTS = [
  ["missing", "Missing"],
  ["substituted", "Delivered by another worker than planned"],
  ["unverified", "On the word of their worker alone"],
  ["shortened", "Shown in short where the answer was made"],
];
const MATERIAL = { whole: "looked at", part: "looked at in part", missing: "not looked at", left_out: "left out" };
const FREE_FORM = "written without keeping to the form that was asked for, so no statement names its tasks";

/** Required tasks against delivered ones, as a bar and in words. */
export function coverageOf(coverage, tasks) {
  const { required, delivered, missing, substituted, material = [] } = coverage;
  const words = required ? `${delivered} of ${plural(required, "required task")} delivered` : "No task was required";
  const others = Math.min(substituted.length, delivered);
  const parts = [["succeeded", delivered - others], ["partial", others], ["failed", missing.length]];
  const bar = parts.filter(([, number]) => number > 0)
    .map(([state, number]) => h("span", { data: { state }, style: { "flex-grow": number } }));
  const label = `${words}, ${others} of them by another worker, ${missing.length} missing`;
  return h("section", { class: "coverage" },
    h("h3", {}, "Coverage"),
    required > 0 && h("div", { class: "coverage-bar", role: "img", "aria-label": label }, bar),
    h("p", { class: "numbers" }, `${words}.`),
    LISTS.map(([name, title]) => coverage[name]?.length > 0 && h("p", { class: "small" },
      h("span", { class: "quiet" }, `${title}: `), tasks.toAll(coverage[name]))),
    material.length > 0 && materialOf(material, tasks));
}

function materialOf(material, tasks) {
  const counts = Object.entries(MATERIAL)
    .map(([status, words]) => [material.filter((each) => each.status === status).length, words])
    .filter(([number]) => number);
  const item = ({ item, status, reason, tasks: looked, missing }) => h("li", {},
    h("code", {}, item),
    h("span", { class: "quiet" }, ` ${MATERIAL[status]}${reason ? `: ${reason.replaceAll("_", " ")}` : ""} `),
    tasks.toAll([...looked, ...missing]));
  return h("details", {},
    h("summary", {}, counts.map((count) => count.join(" ")).join(", ")),
    h("ul", { class: "material" }, material.map(item)));
}

/** What there is to say of the answer as a whole: how sure it is, and how it was made. */
export function standingOf({ confidence = null, strategy, rounds, review = null, reductions = [], ...result }) {
  const groups = reductions.length ? `, ${plural(reductions.length, "group")}` : "";
  const looks = review?.rounds > 1 ? `, who looked ${review.rounds} times` : "";
  return facts([
    ["Confidence", confidence === null ? "nobody said" : confidenceOf(confidence)],
    ["Made from", strategy && `${strategyOf(strategy)}${groups}`],
    ["Rounds", rounds],
    ["Review", review ? `${verdictOf(review.verdict)}${looks}` : "no critic looked at it"],
    ["Form", result.free_form && FREE_FORM],
  ]);
}

function confidenceOf(part) {
  const meter = h("meter", { min: 0, max: 1, value: part, "aria-label": "Confidence" }, percent(part));
  return [meter, h("span", { class: "numbers" }, percent(part))];
}

/** What the critic said, and by which criteria. */
export function reviewOf({ notes, criteria = [] }) {
  if (!notes && !criteria.length) return null;
  const held = criteria.map(({ criterion, met, note }) => h("li", { data: { state: met ? "succeeded" : "failed" } },
    h("span", { class: "sign", role: "img", "aria-label": met ? "met" : "not met" }, met ? "✓" : "✕"),
    h("span", {}, criterion, note && h("span", { class: "quiet" }, ` ${note}`))));
  return h("section", {},
    h("h3", {}, "What the critic says"),
    notes && prose(notes, { top: 4 }), held.length > 0 && h("ul", { class: "criteria" }, held));
}

/** Which result was chosen out of several, and why. */
export function selectionOf({ task, reason, criteria = [], judged }, tasks) {
  const chosen = task ? tasks.to(task) : "No choice could be had: the answer is made from all of them.";
  const held = criteria.map(({ criterion, best, note }) => h("li", {}, h("span", {},
    `${criterion}: `, best ? tasks.to(best) : "no difference", note && h("span", { class: "quiet" }, ` ${note}`))));
  return h("section", {},
    h("h3", {}, "What was chosen"),
    h("p", {}, chosen, judged === false && h("span", { class: "quiet" }, " the only candidate")),
    reason && h("p", { class: "quiet" }, reason), held.length > 0 && h("ul", { class: "criteria" }, held));
}
