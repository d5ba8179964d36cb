/** The part of a run's fold that concerns tasks: attempts begin and end, and what the next one will be. */

const TASK_ENDS = {
  "task.succeeded": "succeeded",
  "task.failed": "failed",
  "task.skipped": "skipped",
  "task.cancelled": "cancelled",
  "task.split": "cancelled",
};
const AGAIN = new Set(["task.retrying", "task.reassigned"]);

/** A task of a plan; with what it brought in another run, where the run begins with that. */
export function newTask(plan, reused, at, seq) {
  return {
    id: plan.id,
    /** The task as the newest plan says that has it. */
    plan,
    status: reused?.status ?? "pending",
    /** Who makes or has made the attempt that counts, or is to make the first. */
    worker: reused?.worker ?? plan.worker,
    attempts: [],
    error: reused?.error ?? null,
    output: reused?.output ?? null,
    /** US dollars of all its attempts. */
    cost: 0,
    /** When all that it waited for had ended. */
    readyAt: null,
    finishedAt: reused ? at : null,
    /** When its next attempt begins at the earliest. */
    notBefore: null,
    /** What is different about its next attempt, and the attempt that led to that. */
    change: "",
    refinedFrom: null,
    /** Id of the question that it waits for. */
    question: null,
    /** Whether the run goes on without waiting for it, and since when. */
    dropped: false,
    droppedAt: null,
    /** Where its result was made, in another run: `{run, task, status, …}`. */
    reused,
    splitInto: null,
    /** Number of the last event about it. */
    seq,
  };
}

/** Bring a task up to date with an event about it. */
export function applyToTask(task, event, at) {
  const { type, data, attempt: number } = event;
  const attempt = attemptOf(task, number);
  if (type === "task.started") start(task, event, at);
  else if (type === "task.refined") Object.assign(task, { refinedFrom: data.refined_from, change: data.change });
  else if (type === "task.escalated" && attempt) attempt.escalation = data;
  else if (type === "task.dropped") Object.assign(task, { dropped: true, droppedAt: at });
  else if (type === "attempt.failed") endAttempt(attempt, "failed", at, data);
  else if (type === "attempt.cancelled") endAttempt(attempt, "cancelled", at, data);
  else if (AGAIN.has(type)) again(task, event, at);
  else if (TASK_ENDS[type]) end(task, event, at);
  task.worker = workerOf(task);
}

/** The attempt of that number; undefined when there is none. */
export function attemptOf(task, number) {
  return task.attempts[number - 1];
}

/** The attempt that counts: which has delivered, else which runs, else the latest; undefined before the first. */
export function attemptThatCounts(task) {
  const ends = ["succeeded", "running"].map((status) => task.attempts.findLast((each) => each.status === status));
  return ends.find(Boolean) ?? task.attempts.at(-1);
}

/** End an attempt that runs. */
export function endAttempt(attempt, status, at, { error = null, decision = null }) {
  if (attempt?.status === "running") Object.assign(attempt, { status, finishedAt: at, error, decision });
}

/** Count what was spent for a task. */
export function spend(task, number, usage) {
  if (!task) return;
  const cost = Number(usage?.cost_usd ?? 0);
  task.cost += cost;
  const attempt = attemptOf(task, number);
  if (attempt) attempt.cost += cost;
}

function start(task, { data, attempt: number }, at) {
  const { worker, model, instruction, tools = [], beside = null } = data;
  const { refinedFrom, change } = task;
  const made = { number, worker, model, instruction, tools, beside, refinedFrom, change, child: null, cost: 0 };
  const became = { status: "running", startedAt: at, finishedAt: null, error: null, escalation: null, decision: null };
  task.attempts.push({ ...made, ...became });
  Object.assign(task, { status: "running", notBefore: null });
}

function again(task, { data, attempt: number }, at) {
  endAttempt(attemptOf(task, number), "failed", at, data);
  Object.assign(task, { status: "pending", readyAt: at, notBefore: Date.parse(data.not_before) });
  if (data.change) task.change = data.change;
  if (data.instruction !== null && data.instruction !== undefined) task.refinedFrom = number;
}

function end(task, { type, data, attempt: number }, at) {
  const status = TASK_ENDS[type];
  const decision = data.decision ?? (data.partial ? "accept_partial" : null);
  endAttempt(attemptOf(task, number), type === "task.split" ? "failed" : status, at, { error: data.error, decision });
  Object.assign(task, {
    status,
    finishedAt: at,
    error: data.error ?? null,
    output: type === "task.succeeded" ? data : null,
    question: null,
    notBefore: null,
    splitInto: data.into ?? null,
  });
}

function workerOf(task) {
  return attemptThatCounts(task)?.worker ?? task.worker;
}
