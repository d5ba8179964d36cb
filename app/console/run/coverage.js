/** How far an answer can be trusted: what it covers, how it was made, what a critic says of it. */

import { h } from "../dom.js";
import { plural } from "../format.js";
import { prose } from "../markdown.js";
import { percent, strategyOf, verdictOf } from "./words.js";

/** Required tasks against delivered ones, as a bar and in words. */
export function coverageOf({ required, delivered, missing = [], substituted = [], unverified = [], shortened = [], material = [] }, tasks) {
  const own = Math.max(0, delivered - substituted.length);
  const parts = [["succeeded", own, "delivered"], ["partial", Math.min(substituted.length, delivered), "by another worker"], ["failed", missing.length, "missing"]];
  const words = required ? `${delivered} of ${plural(required, "required task")} delivered` : "No task was required";
  return h("section", { class: "coverage" },
    h("h3", {}, "Coverage"),
    required > 0 && h("div", { class: "coverage-bar", role: "img", "aria-label": `${words}, ${missing.length} missing` },
      parts.filter(([, number]) => number).map(([state, number]) => h("span", { data: { state }, style: { "flex-grow": number } }))),
    h("p", { class: "numbers" }, `${words}.`),
    listed("Missing", missing, tasks),
    listed("Delivered by another worker than planned", substituted, tasks),
    listed("On the word of their worker alone", unverified, tasks),
    listed("Shown in short where the answer was made", shortened, tasks),
    material.length > 0 && materialOf(material, tasks));
}

function listed(words, ids, tasks) {
  return ids.length > 0 && h("p", { class: "small" }, h("span", { class: "quiet" }, `${words}: `), tasks.toAll(ids));
}

const MATERIAL = { whole: "looked at", part: "looked at in part", missing: "not looked at", left_out: "left out" };

function materialOf(material, tasks) {
  const counts = Object.entries(MATERIAL).map(([status, words]) => [words, material.filter((each) => each.status === status).length]).filter(([, number]) => number);
  return h("details", {},
    h("summary", {}, counts.map(([words, number]) => `${number} ${words}`).join(", ")),
    h("ul", { class: "material" }, material.map((each) => h("li", {},
      h("code", {}, each.item), h("span", { class: "quiet" }, ` ${MATERIAL[each.status]}${each.reason ? `: ${each.reason.replaceAll("_", " ")}` : ""} `),
      tasks.toAll([...each.tasks, ...each.missing])))));
}

/** What there is to say of the answer as a whole: how sure it is, and how it was made. */
export function standingOf({ confidence = null, strategy, rounds, review = null, free_form: freeForm, reductions = [] }) {
  return h("dl", { class: "facts" },
    h("dt", {}, "Confidence"), h("dd", { class: "numbers" }, confidence === null ? "nobody said" : confidenceOf(confidence)),
    strategy && [h("dt", {}, "Made from"), h("dd", {}, strategyOf(strategy), reductions.length > 0 && `, ${plural(reductions.length, "group")}`)],
    rounds && [h("dt", {}, "Rounds"), h("dd", { class: "numbers" }, rounds)],
    h("dt", {}, "Review"), h("dd", {}, review ? `${verdictOf(review.verdict)}${review.rounds > 1 ? `, who looked ${review.rounds} times` : ""}` : "no critic looked at it"),
    freeForm && [h("dt", {}, "Form"), h("dd", {}, "written without keeping to the form that was asked for, so no statement names its tasks")]);
}

function confidenceOf(part) {
  return [h("meter", { min: 0, max: 1, value: part, "aria-label": "Confidence" }, percent(part)), h("span", {}, percent(part))];
}

/** What the critic said, and by which criteria. */
export function reviewOf({ notes, criteria = [] }) {
  if (!notes && !criteria.length) return null;
  return h("section", {},
    h("h3", {}, "What the critic says"),
    notes && prose(notes, { top: 4 }),
    criteria.length > 0 && h("ul", { class: "criteria" }, criteria.map(({ criterion, met, note }) => h("li", { data: { state: met ? "succeeded" : "failed" } },
      h("span", { class: "sign", role: "img", "aria-label": met ? "met" : "not met" }, met ? "✓" : "✕"), h("span", {}, criterion, note && h("span", { class: "quiet" }, ` ${note}`))))));
}

/** Which result was chosen out of several, and why. */
export function selectionOf({ task, reason, criteria = [], judged }, tasks) {
  return h("section", {},
    h("h3", {}, "What was chosen"),
    h("p", {}, task ? tasks.to(task) : "No choice could be had: the answer is made from all of them.", judged === false && h("span", { class: "quiet" }, " the only candidate")),
    reason && h("p", { class: "quiet" }, reason),
    criteria.length > 0 && h("ul", { class: "criteria" }, criteria.map(({ criterion, best, note }) => h("li", {}, h("span", {}, `${criterion}: `, best ? tasks.to(best) : "no difference", note && h("span", { class: "quiet" }, ` ${note}`))))));
}
