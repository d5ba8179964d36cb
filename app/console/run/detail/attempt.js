/** An attempt at a task: what was different about it, what it did step by step, and how it ended. */

import { h } from "../../dom.js";
import { facts } from "../../facts.js";
import { count, duration, moment } from "../../format.js";
import { purposeOf } from "../log_words.js";
import { link, plain, problem, state, taskLinks, toAttempt, toCall, toTool } from "./parts.js";
import { spentWords, sum } from "./spending.js";
import { instructionOf } from "./task.js";
import { longText } from "./texts.js";
import { writing } from "./writing.js";

const DECISIONS = {
  retry_stronger_model: "try again with a stronger model",
  reassign: "give it to another worker",
  split: "split the task",
  ask_human: "ask a person",
  accept_partial: "take what there is",
  give_up: "give up",
};

export function attemptDetail(store, task, attempt) {
  const { fold } = store;
  const steps = stepsOf(fold, task.id, attempt.number);
  const { escalation } = attempt;
  return {
    kind: "Attempt",
    title: `${task.id} · attempt ${attempt.number} of ${task.attempts.length}`,
    around: around(task.attempts, attempt, (each) => toAttempt(task.id, each.number), "attempt"),
    sections: [
      ["facts", null, `${task.seq} ${fold.finishedAt}`, () => about(fold, task, attempt, steps)],
      writing(fold, (place) => place === `${task.id}/${attempt.number}`),
      attempt.error && ["error", null, attempt.error.message, () => problem(attempt.error)],
      escalation && [
        "escalation",
        "Escalation",
        `${escalation.message} ${attempt.decision}`,
        () => escalated(fold, task, attempt),
      ],
      attempt.change && ["change", "What is different about it", attempt.change, () => changed(fold, task, attempt)],
      ["instruction", "Instruction", attempt.instruction, () => instructionOf(task, attempt)],
      steps.length > 0 && [
        "steps",
        "Step by step",
        `${steps.length} ${steps.at(-1).finishedAt} ${task.seq}`,
        () => listed(steps, fold),
      ],
    ],
  };
}

/** Calls and tools of an attempt in the order in which they began. */
export function stepsOf(fold, taskId, attempt) {
  const mine = (each) => each.taskId === taskId && each.attempt === attempt;
  const calls = fold.calls.filter(mine).map((call) => ({ ...call, call }));
  const tools = fold.tools.filter(mine).map((tool) => ({ ...tool, tool }));
  return [...calls, ...tools].sort((one, other) => one.startedAt - other.startedAt || one.seq - other.seq);
}

/** The one before and the one after, as selections; null where there is none. */
export function around(list, current, to, noun) {
  const place = list.indexOf(current);
  const [before, after] = [list[place - 1], list[place + 1]];
  return { before: before ? to(before) : null, after: after ? to(after) : null, noun };
}

function about(fold, task, attempt, steps) {
  const spent = sum(steps.filter((step) => step.call));
  const child = attempt.child && fold.children.get(attempt.child);
  return facts([
    ["State", state(attempt.status)],
    ["Worker", attempt.worker],
    ["Model", attempt.model],
    ["Tools", attempt.tools.length ? attempt.tools.join(", ") : "none"],
    ["Began", moment(attempt.startedAt)],
    ["Took", duration((attempt.finishedAt ?? fold.until()) - attempt.startedAt)],
    ["Model calls", spent ? spentWords(spent) : null],
    ["Beside", attempt.beside ? link(toAttempt(task.id, attempt.beside), `attempt ${attempt.beside}`) : null],
    [
      "Told better after",
      attempt.refinedFrom ? link(toAttempt(task.id, attempt.refinedFrom), `attempt ${attempt.refinedFrom}`) : null,
    ],
    [
      "Nested run",
      attempt.child
        ? [h("a", { href: `/console/runs/${attempt.child}` }, attempt.child), child ? `, ${child.status}` : ""]
        : null,
    ],
    ["Split into", task.splitInto && attempt === task.attempts.at(-1) ? taskLinks(task.splitInto, fold) : null],
  ]);
}

function escalated(fold, task, { number, escalation, decision }) {
  const ruled = decision ?? escalation.decision;
  const by = fold.calls.findLast((call) => isFor(call, "rule", task, number));
  return [
    h("p", { class: "text" }, h("strong", {}, `${plain(escalation.reason)}: `), escalation.message),
    h("p", {},
      ruled ? `Ruled: ${DECISIONS[ruled] ?? plain(ruled)}, ` : "No ruling was made on it",
      by ? ["by ", link(toCall(by), `the supervisor on ${by.model}`)] : ruled ? "by the rules of the team" : "",
      ".",
    ),
    escalation.partial && [h("h4", {}, "What it had so far"), longText(escalation.partial, { name: "partial result" })],
  ];
}

function changed(fold, task, attempt) {
  const by = fold.calls.findLast((call) => isFor(call, "refine", task, attempt.refinedFrom));
  return [
    h("p", { class: "text" }, attempt.change),
    by && h("p", { class: "quiet small" }, "Rewritten by ", link(toCall(by), `the supervisor on ${by.model}`), "."),
  ];
}

const isFor = (call, purpose, task, attempt) =>
  call.purpose === purpose && call.taskId === task.id && call.attempt === attempt;

function listed(steps, fold) {
  return h("ol", { class: "steps" },
    steps.map((step) =>
      h("li", { data: { kind: step.call ? "call" : "tool", ok: String(step.ok) } },
        step.call ? link(toCall(step), stepWords(step)) : link(toTool(step), step.name),
        h("span", { class: "quiet numbers" }, step.call ? calledIn(step) : toolIn(step, fold)),
      ),
    ),
  );
}

function stepWords({ purpose, ok, stopReason }) {
  const of = purpose === "work" ? "Model call" : `Call ${purposeOf(purpose)}`;
  return ok ? `${of}: ${plain(stopReason)}` : of;
}

function calledIn({ ok, error, usage, startedAt, finishedAt }) {
  const how = ok ? `${count(usage.input_tokens)} + ${count(usage.output_tokens)} tokens` : `✕ ${plain(error?.code)}`;
  return ` ${how} · ${duration(finishedAt - startedAt)}`;
}

function toolIn({ ok, startedAt, finishedAt }, fold) {
  const how = ok === null ? "under way" : ok ? "" : "✕ failed";
  return ` ${[how, duration((finishedAt ?? fold.until()) - startedAt)].filter(Boolean).join(" · ")}`;
}
