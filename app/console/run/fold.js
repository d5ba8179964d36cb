/**
 * A run as its events tell it: what the graph, the lanes, the log and the detail draw. Events are applied in the order of
 * `seq`; one that was applied already changes nothing. Moments are milliseconds since 1970; null is not yet.
 */

const TASK_ENDS = { "task.succeeded": "succeeded", "task.failed": "failed", "task.skipped": "skipped", "task.cancelled": "cancelled", "task.split": "cancelled" };
const AGAIN = new Set(["task.retrying", "task.reassigned"]);
const RUN_ENDS = new Set(["run.succeeded", "run.partial", "run.failed", "run.cancelled"]);
const TEXT_KEPT = 4000;

export class RunFold {
  lastSeq = 0;
  /** All events. */
  events = [];
  /** Revisions of the plan by number: the data of the event, with `at`, `seq` and `type`. */
  plans = new Map();
  /** Number of the newest revision; null before the first. */
  revision = null;
  /** Tasks by id, those too that a later revision has taken out; see `#planned`. */
  tasks = new Map();
  /** Model calls in the order of their ends; see `#call`. */
  calls = [];
  /** Tool calls in the order of their starts; see `#tool`. */
  tools = [];
  /** Times at which the whole run stood still: `{reason, from, to}`. */
  waits = [];
  /** Questions by id: the data of the event, with `taskId`, `askedAt`, `expiresAt`, `status`, `answer`. */
  questions = new Map();
  /** Nested runs by id: `{run, team, taskId, attempt, status, stopReason}`. */
  children = new Map();
  /** The approval that is wanted: `{revision, cause, expiresAt, default, decided, by}`; null when none ever was. */
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
      this.writing.set(place, ((this.writing.get(place) ?? "") + data.text).slice(-TEXT_KEPT));
    }
  }

  /** The end of the time that there is to draw: now, while the run goes on. */
  until(now = Date.now()) {
    const last = this.events.at(-1);
    return this.finishedAt ?? Math.max(now, last ? Date.parse(last.at) : 0);
  }

  #apply(event, at) {
    const { type, data } = event;
    const task = this.tasks.get(event.task_id);
    if (task) task.seq = event.seq;
    if (type.startsWith("plan.")) this.#plan(event, at);
    else if (type.startsWith("llm.")) this.#call(event, at);
    else if (type.startsWith("tool.")) this.#tool(event, at);
    else if (type.startsWith("question.")) this.#question(event, at, task);
    else if (type.startsWith("child.")) this.#child(event);
    else if (type.startsWith("run.")) this.#run(event, at);
    else if (type === "results.reused") for (const each of data.tasks) this.#reused.set(each.task, { ...each, run: data.run });
    else if (task) this.#task(task, event, at);
  }

  #plan({ type, data, seq }, at) {
    if (type === "plan.created" || type === "plan.revised" || type === "plan.edited") {
      this.revision = data.revision;
      this.plans.set(data.revision, { ...data, at, seq, type });
      for (const plan of data.tasks) this.#planned(plan, at, seq);
      for (const task of this.tasks.values()) this.#readied(task, at);
    } else if (type === "plan.approval_requested") {
      this.approval = { ...data, expiresAt: Date.parse(data.expires_at), decided: null, by: null };
    } else if (this.approval && (type === "plan.approved" || type === "plan.rejected")) {
      Object.assign(this.approval, { decided: type.slice("plan.".length), by: data.by });
    }
  }

  #planned(plan, at, seq) {
    const task = this.tasks.get(plan.id);
    if (task) {
      Object.assign(task, { plan }, task.attempts.length ? {} : { worker: plan.worker });
      return;
    }
    const reused = this.#reused.get(plan.id) ?? null;
    this.tasks.set(plan.id, {
      id: plan.id,
      /** The task as the newest plan says that has it. */
      plan,
      status: reused?.status ?? "pending",
      worker: reused?.worker ?? plan.worker,
      attempts: [],
      error: reused?.error ?? null,
      output: reused?.output ?? null,
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
      /** Whether the run goes on without waiting for it. */
      dropped: false,
      /** Where its result was made, in another run: `{run, task, status, …}`. */
      reused,
      splitInto: null,
      /** Number of the last event about it. */
      seq,
    });
  }

  #readied(task, at) {
    if (task.status !== "pending" || task.readyAt !== null) return;
    const before = task.plan.depends_on.map((id) => this.tasks.get(id)?.finishedAt ?? null);
    if (!before.includes(null)) task.readyAt = before.length ? Math.max(at, ...before) : at;
  }

  #task(task, event, at) {
    const { type, data, attempt: number } = event;
    const attempt = task.attempts.find((each) => each.number === number);
    if (type === "task.started") {
      const { worker, model, instruction, tools = [], beside = null } = data;
      const { refinedFrom, change } = task;
      task.attempts.push({ number, worker, model, instruction, tools, beside, refinedFrom, change, status: "running", startedAt: at, finishedAt: null, error: null, escalation: null, decision: null });
      Object.assign(task, { status: "running", worker, notBefore: null, refinedFrom: null, change: "" });
    } else if (type === "task.refined") Object.assign(task, { refinedFrom: data.refined_from, change: data.change });
    else if (type === "task.escalated" && attempt) attempt.escalation = data;
    else if (type === "task.dropped") task.dropped = true;
    else if (type === "attempt.failed") endAttempt(attempt, "failed", at, data);
    else if (type === "attempt.cancelled") endAttempt(attempt, "cancelled", at, data);
    else if (AGAIN.has(type)) {
      endAttempt(attempt, "failed", at, data);
      Object.assign(task, { status: "pending", readyAt: at, notBefore: Date.parse(data.not_before) });
      if (data.change) task.change = data.change;
      if (data.instruction) task.refinedFrom = number;
    } else if (TASK_ENDS[type]) this.#endTask(task, attempt, event, at);
  }

  #endTask(task, attempt, { type, data }, at) {
    const status = TASK_ENDS[type];
    endAttempt(attempt, type === "task.split" ? "failed" : status, at, data);
    for (const other of task.attempts) endAttempt(other, "cancelled", at, {});
    const output = type === "task.succeeded" ? data : null;
    Object.assign(task, { status, finishedAt: at, error: data.error ?? null, question: null, notBefore: null, output, splitInto: data.into ?? null });
    for (const other of this.tasks.values()) if (other.plan.depends_on.includes(task.id)) this.#readied(other, at);
  }

  #call({ type, data, seq, task_id: taskId, attempt }, at) {
    this.writing.delete(placeOf(taskId, attempt, data.purpose));
    const ok = type === "llm.completed" && !data.thrown_away;
    this.calls.push({
      seq, taskId: taskId ?? null, attempt: attempt ?? null, purpose: data.purpose, number: data.number ?? null, model: data.model,
      startedAt: at - data.duration_ms, finishedAt: at, waitedMs: data.waited_ms ?? 0, ok, usage: data.usage,
      stopReason: data.stop_reason ?? null, error: data.error ?? data.thrown_away ?? null, retryAt: data.retry_at ? Date.parse(data.retry_at) : null,
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
      seq, endSeq: null, callId: data.call_id, name: data.name, taskId: taskId ?? null, attempt: attempt ?? null,
      startedAt: at - (data.duration_ms ?? 0), finishedAt: null, ok: null, provider: data.provider ?? false, ...ended,
    };
    this.tools.push(tool);
    if (tool.finishedAt === null) this.#openTools.set(place, tool);
  }

  #question({ type, data, task_id: taskId, attempt: number }, at, task) {
    if (type === "question.asked") {
      this.questions.set(data.id, { ...data, taskId: taskId ?? null, askedAt: at, expiresAt: Date.parse(data.expires_at), status: "open", answer: null });
      if (!task) return;
      endAttempt(task.attempts.find((each) => each.number === number), "failed", at, data);
      Object.assign(task, { status: "waiting", question: data.id });
      return;
    }
    const answered = type === "question.answered";
    Object.assign(this.questions.get(data.id) ?? {}, { status: answered ? "answered" : "expired", answer: answered ? data.answer : null });
    if (task?.status === "waiting") Object.assign(task, { status: "pending", question: null, readyAt: at });
  }

  #child({ type, data, task_id: taskId, attempt }) {
    if (type === "child.started") this.children.set(data.run, { run: data.run, team: data.team, taskId, attempt, status: "running", stopReason: null });
    else Object.assign(this.children.get(data.run) ?? {}, { status: data.status, stopReason: data.stop_reason });
  }

  #run({ type, data }, at) {
    const wait = this.waits.at(-1);
    if (type === "run.queued") this.queuedAt = at;
    else if (type === "run.started") this.startedAt = at;
    else if (type === "run.waiting") this.waits.push({ reason: data.reason, from: at, to: null });
    else if (wait && type !== "run.cancel_requested") wait.to ??= at;
    if (!RUN_ENDS.has(type)) return;
    this.finishedAt = at;
    this.writing.clear();
    for (const question of this.questions.values()) if (question.status === "open") question.status = "closed";
  }
}

function endAttempt(attempt, status, at, { error = null, decision = null }) {
  if (attempt?.status === "running") Object.assign(attempt, { status, finishedAt: at, error, decision });
}

/** Where text is being written: in an attempt, or by the supervisor for a purpose. */
export function placeOf(taskId, attempt, purpose) {
  return taskId ? `${taskId}/${attempt}` : purpose ?? "supervisor";
}
