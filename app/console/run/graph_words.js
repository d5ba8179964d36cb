/** What the nodes of the graph say. */

import { duration, money, plural, SIGNS } from "../format.js";

const OPEN = new Set(["pending", "running", "waiting"]);

/** The first line of a task. */
export function titleOf(plan) {
  return plan.title || plan.id;
}

/** How a task stands: `{state, word}`. A task that is only planned stands nowhere. */
export function standingOf(task, fold, now = Date.now()) {
  if (!task) return { state: "pending", word: "" };
  if (task.status === "waiting") return { state: "waiting", word: "waits for an answer" };
  if (task.status === "skipped") return { state: "skipped", word: "left out" };
  if (task.status === "pending" && task.notBefore > now) {
    return { state: "pending", word: `again in ${duration(task.notBefore - now)}` };
  }
  if (task.status === "pending" && fold.finishedAt !== null) return { state: "pending", word: "not carried out" };
  if (task.status === "running" && isNested(task)) return { state: "running", word: "runs as a team" };
  const word = task.splitInto ? `split into ${plural(task.splitInto.length, "task")}` : task.status;
  return { state: task.status, word };
}

/** What a task has taken: how long, for how much. */
export function takenOf(task, fold, now = Date.now()) {
  if (!task) return "";
  if (task.reused) return "from an earlier run";
  return [lastingOf(task, fold, now), task.cost ? money(task.cost) : null].filter(Boolean).join(" · ");
}

function lastingOf(task, fold, now) {
  const begun = task.attempts[0]?.startedAt ?? null;
  if (begun === null) return null;
  const ended = task.finishedAt ?? (OPEN.has(task.status) ? fold.until(now) : begun);
  return duration(Math.max(0, ended - begun));
}

/** All of it in a sentence, for those who hear it; what ticks is left out. */
export function spokenOf(plan, task, fold, marks) {
  const said = [
    standingOf(task, fold).word,
    task?.worker ?? plan.worker,
    task?.attempts.length > 1 ? plural(task.attempts.length, "attempt") : null,
    task?.finishedAt ? lastingOf(task, fold) : null,
    task?.finishedAt && task.cost ? money(task.cost) : null,
    plan.required ? null : "optional",
    ...marks,
    plan.depends_on.length ? `after ${plan.depends_on.join(", ")}` : null,
  ];
  return `${titleOf(plan)}: ${said.filter(Boolean).join(", ")}`;
}

/** What else there is to know about a task, in a word or two each. */
export function marksOf(task) {
  if (!task) return [];
  const dropped = task.dropped && task.status !== "succeeded";
  return [dropped ? "left behind" : null, task.reused ? "reused" : null].filter(Boolean);
}

/** The supervisor's first step: `{state, word}`. */
export function planningOf(fold) {
  const plan = fold.plan;
  const made = [...fold.plans.values()][0];
  if (plan && fold.approval && !fold.approval.decided && fold.finishedAt === null) {
    return { state: "waiting", word: "to be approved" };
  }
  if (fold.approval?.decided === "rejected") return { state: "failed", word: "rejected" };
  if (made) return { state: "succeeded", word: fold.startedAt ? duration(made.at - fold.startedAt) : "planned" };
  if (fold.finishedAt !== null) return { state: fold.status, word: "none was made" };
  return fold.startedAt ? { state: "running", word: "being made" } : { state: "queued", word: "to be made" };
}

/** The supervisor's last step: `{state, word}`. */
export function answeringOf(fold, phase) {
  if (fold.finishedAt !== null) return { state: fold.status, word: fold.status };
  const open = fold.plan.tasks.some(({ id }) => isAwaited(fold.tasks.get(id)));
  if (open) return { state: "pending", word: "to come" };
  return { state: "running", word: phase === "reviewing" ? "being looked at" : "being made" };
}

export function signOf(state) {
  return SIGNS[state] ?? SIGNS.pending;
}

function isAwaited(task) {
  return task ? OPEN.has(task.status) && !task.dropped : true;
}

function isNested(task) {
  return task.attempts.some((attempt) => attempt.child && attempt.status === "running");
}
