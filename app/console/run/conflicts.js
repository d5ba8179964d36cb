/** What stands beside an answer: where results contradict each other, what is missing, what was taken for granted. */

import { h } from "../dom.js";
import { plural } from "../format.js";
import { here } from "../router.js";
import { methodOf, percent, reasonOf } from "./words.js";

/** The contradictions, each at its own address (`?conflict=c1`). */
export function conflictsOf(conflicts, tasks) {
  if (!conflicts.length) return null;
  const open = conflicts.filter(({ status }) => status === "unresolved").length;
  const title = h("h3", {}, plural(conflicts.length, "conflict"),
    open > 0 && h("span", { class: "quiet" }, `, ${open} unresolved`));
  return h("section", { class: "conflicts" }, title, conflicts.map((conflict) => conflictOf(conflict, tasks)));
}

function conflictOf({ id, topic, claims, status, ...settled }, tasks) {
  const resolved = status === "resolved";
  return h("article", { class: "aside-card", data: { conflict: id, state: resolved ? "succeeded" : "waiting" } },
    h("header", {},
      h("h4", {}, h("a", { href: here({ conflict: id }) }, topic)),
      h("span", { class: "state" }, resolved ? "● resolved" : "◔ unresolved")),
    h("dl", { class: "claims" }, claims.map(({ task, claim }) => [h("dt", {}, tasks.to(task)), h("dd", {}, claim)])),
    resolved ? settledBy(settled) : h("p", { class: "quiet small" }, "The answer gives every side."));
}

function settledBy({ resolution, method, confidence }) {
  const sure = typeof confidence === "number" ? `, ${percent(confidence)} sure` : "";
  return [
    h("p", {}, h("span", { class: "quiet" }, "The answer holds: "), resolution),
    method && h("p", { class: "quiet small" }, `Settled ${methodOf(method)}${sure}.`),
  ];
}

/** Tasks that delivered nothing, and what that means for the answer. */
export function gapsOf(gaps, tasks) {
  if (!gaps.length) return null;
  return h("section", { class: "gaps" }, h("h3", {}, plural(gaps.length, "gap")), gaps.map((gap) => gapOf(gap, tasks)));
}

function gapOf({ task, reason, impact, redispatched_as: again }, tasks) {
  return h("article", { class: "aside-card", data: { gap: task, state: again ? "partial" : "failed" } },
    h("h4", {}, tasks.to(task)),
    h("p", { class: "quiet small" }, `It delivered nothing: ${reasonOf(reason)}.`),
    impact && h("p", {}, impact),
    again && h("p", { class: "small" }, h("span", { class: "quiet" }, "Tried in another way as "), tasks.to(again)));
}

/** What was assumed where nobody answered a question. */
export function assumptionsOf(assumptions, tasks) {
  if (!assumptions.length) return null;
  const each = ({ task, question, assumption }) => h("article", { class: "aside-card", data: { state: "waiting" } },
    h("p", {}, assumption),
    h("p", { class: "quiet small" }, "Nobody answered: ", question),
    h("p", { class: "small" }, tasks.to(task)));
  return h("section", {}, h("h3", {}, "Taken for granted"), assumptions.map(each));
}
