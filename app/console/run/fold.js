/**
 * A run as its events tell it: what the graph, the lanes, the log and the detail draw. Events are applied in the order
 * of `seq`; one that was applied already changes nothing. Moments are milliseconds since 1970; null is not yet.
 */

import { applyToTask, attemptOf, endAttempt, newTask, spend } from "./task_fold.js";

const RUN_MOVES = {
  "run.queued": "queued",
  "run.started": "running",
  "run.resumed": "running",
  "run.waiting": "waiting",
  "run.succeeded": "succeeded",
  "run.partial": "partial",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
};
const RUN_ENDS = new Set(["succeeded", "partial", "failed", "cancelled"]);
const TEXT_KEPT = 4000;
const ANSWER_KEPT = 200_000;

export class RunFold {
  lastSeq = 0;
  /** The status of the run; null before the first event. */
  status = null;
  /** All events. */
  events = [];
  /** Revisions of the plan by number: the data of the event, with `at`, `seq` and `type`. */
  plans = new Map();
  /** Number of the newest revision; null before the first. */
  revision = null;
  /** Tasks by id, those too that a later revision has taken out; see `newTask`. */
  tasks = new Map();
  /** Model calls in the order of their ends; see `#call`. */
  calls = [];
  /** Tool calls in the order of their starts; see `#tool`. */
  tools = [];
  /** Times at which the whole run stood still: `{reason, from, to}`. */
  waits = [];
  /** Questions by id: the event's data, with `taskId`, `askedAt`, `expiresAt`, `status`, `answer`, `answeredBy`. */
  questions = new Map();
  /** Nested runs by id: `{run, team, taskId, attempt, status, stopReason}`. */
  children = new Map();
  /** The approval that is wanted: `{revision, cause, expiresAt, default, decided, by, reason}`; null for none. */
  approval = null;
  queuedAt = null;
  startedAt = null;
  finishedAt = null;
  /** Text that is being written, by `placeOf`; it goes when the event comes that completes it. */
  writing = new Map();

  #openTools = new Map();
  #reused = new Map();

  /** Take these events in; gives those that were new. */
  apply(events) {
    const fresh = events.filter((event) => event.seq > this.lastSeq);
    for (const event of fresh) {
      this.lastSeq = event.seq;
      this.events.push(event);
      this.#apply(event, Date.parse(event.at));
    }
    return fresh;
  }

  /** Take in text that is being written (`text.delta`). */
  applyDeltas(deltas) {
    for (const { task_id: taskId, attempt, data } of deltas) {
      const place = placeOf(taskId, attempt, data.purpose);
      const kept = taskId ? TEXT_KEPT : ANSWER_KEPT;
      this.writing.set(place, ((this.writing.get(place) ?? "") + data.text).slice(-kept));
    }
  }

  /** The end of the time that there is to draw: now, while the run goes on. */
  until(now = Date.now()) {
    const last = this.events.at(-1);
    return this.finishedAt ?? Math.max(now, last ? Date.parse(last.at) : 0);
  }

  /** The newest plan; null before there is one. */
  get plan() {
    return this.plans.get(this.revision) ?? null;
  }

  #apply(event, at) {
    const { type, data } = event;
    const task = this.tasks.get(event.task_id);
    if (task) task.seq = event.seq;
    if (type.startsWith("plan.")) this.#plan(event, at);
    else if (type.startsWith("llm.")) this.#call(event, at, task);
    else if (type.startsWith("tool.")) this.#tool(event, at);
    else if (type.startsWith("question.")) this.#question(event, at, task);
    else if (type.startsWith("child.")) this.#child(event, task);
    else if (type.startsWith("run.")) this.#run(event, at);
    else if (type === "results.reused") {
      for (const each of data.tasks) this.#reused.set(each.task, { ...each, run: data.run });
    } else if (task) this.#task(task, event, at);
  }

  #plan({ type, data, seq }, at) {
    if (type === "plan.created" || type === "plan.revised" || type === "plan.edited") {
      this.revision = data.revision;
      this.plans.set(data.revision, { ...data, at, seq, type });
      if (type === "plan.edited") this.#withdraw(data);
      for (const plan of data.tasks) this.#planned(plan, at, seq);
      for (const task of this.tasks.values()) this.#readied(task, at);
    } else if (type === "plan.approval_requested") {
      this.approval = { ...data, expiresAt: Date.parse(data.expires_at), decided: null, by: null, reason: null };
    } else if (this.approval && (type === "plan.approved" || type === "plan.rejected")) {
      Object.assign(this.approval, { decided: type.slice("plan.".length), by: data.by, reason: data.reason ?? null });
    }
  }

  /** Nothing has begun when a plan is edited: what it lacks is gone, and what is not as it was begins anew. */
  #withdraw({ removed, changed }) {
    for (const id of removed) this.tasks.delete(id);
    for (const id of changed) {
      this.tasks.delete(id);
      this.#reused.delete(id);
    }
  }

  #planned(plan, at, seq) {
    const task = this.tasks.get(plan.id);
    if (task) task.plan = plan;
    else this.tasks.set(plan.id, newTask(plan, this.#reused.get(plan.id) ?? null, at, seq));
  }

  #readied(task, at) {
    if (task.status !== "pending" || task.readyAt !== null) return;
    const needed = task.plan.depends_on.map((id) => this.tasks.get(id));
    const before = needed.map((each) => each?.droppedAt ?? each?.finishedAt ?? null);
    if (!before.includes(null)) task.readyAt = before.length ? Math.max(at, ...before) : at;
  }

  #task(task, event, at) {
    applyToTask(task, event, at);
    if (task.finishedAt !== at && task.droppedAt !== at) return;
    for (const other of this.tasks.values()) if (other.plan.depends_on.includes(task.id)) this.#readied(other, at);
    if (task.status !== "failed" && task.status !== "cancelled") return;
    for (const question of this.questions.values()) {
      if (question.taskId === task.id && question.status === "open") question.status = "closed";
    }
  }

  #call({ type, data, seq, task_id: taskId, attempt }, at, task) {
    this.writing.delete(placeOf(taskId, attempt, data.purpose));
    spend(task, attempt, data.usage);
    this.calls.push({
      seq,
      taskId: taskId ?? null,
      attempt: attempt ?? null,
      purpose: data.purpose,
      number: data.number ?? null,
      model: data.model,
      startedAt: at - data.duration_ms,
      finishedAt: at,
      waitedMs: data.waited_ms ?? 0,
      ok: type === "llm.completed" && !data.thrown_away,
      usage: data.usage,
      stopReason: data.stop_reason ?? null,
      error: data.error ?? data.thrown_away ?? null,
      retryAt: data.retry_at ? Date.parse(data.retry_at) : null,
    });
  }

  #tool({ type, data, seq, task_id: taskId, attempt }, at) {
    const place = `${placeOf(taskId, attempt)}/${data.call_id}`;
    const open = this.#openTools.get(place);
    const ended = type === "tool.started" ? {} : { finishedAt: at, ok: type === "tool.completed", endSeq: seq };
    if (open && type !== "tool.started") {
      Object.assign(open, ended);
      this.#openTools.delete(place);
      return;
    }
    // A tool of the provider has an end alone.
    const tool = {
      seq,
      endSeq: null,
      callId: data.call_id,
      name: data.name,
      taskId: taskId ?? null,
      attempt: attempt ?? null,
      startedAt: at - (data.duration_ms ?? 0),
      finishedAt: null,
      ok: null,
      provider: data.provider ?? false,
      ...ended,
    };
    this.tools.push(tool);
    if (tool.finishedAt === null) this.#openTools.set(place, tool);
  }

  #question({ type, data, task_id: taskId, attempt: number }, at, task) {
    if (type === "question.asked") {
      const asked = { taskId: taskId ?? null, askedAt: at, expiresAt: Date.parse(data.expires_at) };
      this.questions.set(data.id, { ...data, ...asked, status: "open", answer: null, answeredBy: null });
      if (!task) return;
      endAttempt(attemptOf(task, number), "failed", at, data);
      Object.assign(task, { status: "waiting", question: data.id });
      return;
    }
    const question = this.questions.get(data.id);
    const answered = type === "question.answered";
    const became = answered
      ? { status: "answered", answer: data.answer, answeredBy: data.answered_by ?? null }
      : { status: "expired" };
    if (question) Object.assign(question, became);
    if (task?.status !== "waiting") return;
    Object.assign(task, { status: "pending", readyAt: at });
    // With another default than to proceed, the task or the run ends with the question.
    if (!answered && question?.default.action !== "proceed") return;
    const change = `${answered ? "A person has" : "Nobody has"} answered a question about the task.`;
    Object.assign(task, { question: null, refinedFrom: number, change, notBefore: null });
  }

  #child({ type, data, task_id: taskId, attempt: number }, task) {
    const attempt = task && attemptOf(task, number);
    if (attempt) attempt.child = data.run;
    if (type === "child.started") {
      const { run, team } = data;
      this.children.set(run, { run, team, taskId, attempt: number, status: "running", stopReason: null });
      return;
    }
    const ended = { status: data.status, stopReason: data.stop_reason };
    const known = this.children.get(data.run) ?? { run: data.run, team: null, taskId, attempt: number };
    this.children.set(data.run, Object.assign(known, ended));
    spend(task, number, data.usage);
  }

  #run({ type, data }, at) {
    if (!RUN_MOVES[type]) return;
    const wait = this.waits.at(-1);
    if (wait) wait.to ??= at;
    this.status = RUN_MOVES[type];
    if (type === "run.queued") this.queuedAt = at;
    else if (type === "run.started") this.startedAt = at;
    else if (type === "run.waiting") this.waits.push({ reason: data.reason, from: at, to: null });
    if (!RUN_ENDS.has(this.status)) return;
    this.finishedAt = at;
    this.writing.clear();
    for (const question of this.questions.values()) if (question.status === "open") question.status = "closed";
  }
}

/** Where text is being written: in an attempt, or by the supervisor for a purpose. */
export function placeOf(taskId, attempt, purpose) {
  return taskId ? `${taskId}/${attempt}` : purpose ?? "supervisor";
}
