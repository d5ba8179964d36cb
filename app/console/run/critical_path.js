/**
 * What bounded a run: planning, the longest chain of tasks that waited for each other, and what followed the last task.
 * It is told from the events as the API's `timing.critical_path_ms` is, and comes to the same; the waits between the
 * tasks of the chain are shown with it, and are no part of the sum. Moments are milliseconds.
 */

const TASK_ENDS = new Set(["task.succeeded", "task.failed", "task.skipped", "task.cancelled", "task.split"]);
const ATTEMPT_ENDS = new Set([
  "task.succeeded",
  "task.failed",
  "task.cancelled",
  "task.split",
  "task.retrying",
  "task.reassigned",
  "question.asked",
  "attempt.failed",
  "attempt.cancelled",
]);
const RUN_ENDS = new Set(["run.succeeded", "run.partial", "run.failed", "run.cancelled"]);

const NOTHING = { tasks: [], planningMs: 0, tasksMs: 0, synthesisMs: 0, totalMs: 0, until: null, steps: [] };

export class CriticalPath {
  #tasks = new Map();
  #current = [];
  #claims = new Map();
  #reused = new Set();
  #startedAt = null;
  #plannedAt = null;
  #executedAt = null;
  #endedAt = null;
  #taken = 0;

  /** Take in the events that have not been taken yet, of all that there are. */
  take(events) {
    for (; this.#taken < events.length; this.#taken += 1) {
      const event = events[this.#taken];
      this.#take(event, Date.parse(event.at));
    }
    return this;
  }

  #take(event, at) {
    const { type, data } = event;
    if (type === "run.started") this.#startedAt = at;
    else if (RUN_ENDS.has(type)) this.#endedAt = at;
    else if (type === "results.reused") this.#reused = new Set(data.tasks.map((each) => each.task));
    else if (type === "conflict.found")
      this.#claims.set(
        data.id,
        data.claims.map((claim) => claim.task),
      );
    else if (type.startsWith("plan.") && data.tasks) this.#plan(event, at);
    else if (event.task_id) this.#task(event, at);
  }

  #plan({ type, data }, at) {
    if (type === "plan.created") this.#plannedAt = at;
    this.#current = data.tasks.map((task) => task.id);
    for (const task of data.tasks) this.#known(task.id).needs = task.depends_on;
    for (const [before, id] of Object.entries(data.redispatched ?? {})) this.#known(id).follows.push(before);
    for (const [conflict, id] of Object.entries(data.ties ?? {})) {
      this.#known(id).follows.push(...(this.#claims.get(conflict) ?? []));
    }
    for (const id of this.#current) if (this.#reused.has(id)) this.#known(id).endedAt = at;
    this.#executedAt = this.#allEnded() ? (this.#executedAt ?? at) : null;
  }

  #known(id) {
    // `follows`: whose gap or conflict it is to close, and what was split into it.
    if (!this.#tasks.has(id))
      this.#tasks.set(id, { id, needs: [], follows: [], attempts: [], endedAt: null, dropped: false });
    return this.#tasks.get(id);
  }

  #allEnded() {
    return this.#current.every((id) => this.#known(id).endedAt !== null);
  }

  #task({ type, data, task_id: id, attempt: number }, at) {
    const task = this.#tasks.get(id);
    if (!task) return;
    if (type === "task.started") task.attempts.push({ number, from: at, to: null });
    else if (type === "task.dropped") task.dropped = true;
    const attempt = task.attempts.find((each) => each.number === number);
    if (attempt && ATTEMPT_ENDS.has(type)) attempt.to ??= at;
    if (!TASK_ENDS.has(type)) return;
    task.endedAt = at;
    for (const part of data.into ?? []) this.#known(part).follows.push(id);
    if (this.#allEnded()) this.#executedAt = at;
  }

  /**
   * What bounded the run, up to `now` while it goes on: `{tasks, planningMs, tasksMs, synthesisMs, totalMs, until,
   * steps}`. Steps are in order and have `kind` (`planning`, `task`, `wait`, `synthesis`), `from` and `to`; those of a
   * task have `task` and `attempt`.
   */
  told(now) {
    if (this.#startedAt === null) return NOTHING;
    const end = this.#endedAt ?? now;
    const planned = this.#plannedAt ?? end;
    const stretches = new Map([...this.#tasks.values()].map((task) => [task.id, stretchesOf(task, end)]));
    const worked = new Map(
      [...stretches].map(([id, each]) => [id, each.reduce((sum, { from, to }) => sum + to - from, 0)]),
    );
    const chain = longestChain(this.#tasks, worked);
    const planningMs = planned - this.#startedAt;
    const tasksMs = chain.reduce((sum, id) => sum + worked.get(id), 0);
    const synthesisMs = this.#executedAt === null ? 0 : end - this.#executedAt;
    const steps = [
      { kind: "planning", from: this.#startedAt, to: planned },
      ...chain.flatMap((id) => stretches.get(id).map((each) => ({ kind: "task", task: id, ...each }))),
      ...(this.#executedAt === null ? [] : [{ kind: "synthesis", from: this.#executedAt, to: end }]),
    ];
    const tasks = chain.filter((id) => this.#tasks.get(id).attempts.length);
    return {
      tasks,
      planningMs,
      tasksMs,
      synthesisMs,
      totalMs: planningMs + tasksMs + synthesisMs,
      until: end,
      steps: withWaits(steps),
    };
  }
}

/** When attempts at a task were under way; what two do side by side counts once. */
function stretchesOf(task, end) {
  const stretches = [];
  let until = -Infinity;
  for (const { number, from, to } of task.attempts) {
    const since = Math.max(from, until);
    until = Math.max(since, Math.min(to ?? end, task.endedAt ?? end));
    if (until > since) stretches.push({ attempt: number, from: since, to: until });
  }
  return stretches;
}

/** The tasks on the heaviest way through the graph, first to last. */
export function longestChain(tasks, worked) {
  const lengths = new Map();
  const before = new Map();
  const waiting = [...tasks.keys()];
  while (waiting.length) {
    const task = tasks.get(waiting.at(-1));
    const needs = [...task.needs, ...task.follows].filter((id) => tasks.has(id));
    const unknown = needs.filter((id) => !lengths.has(id));
    if (unknown.length && !lengths.has(task.id)) {
      waiting.push(...unknown);
      continue;
    }
    waiting.pop();
    // Nothing has waited for a dropped task to its end.
    const last = heaviest(
      needs.filter((id) => !tasks.get(id).dropped),
      lengths,
    );
    before.set(task.id, last);
    lengths.set(task.id, (worked.get(task.id) ?? 0) + (last === null ? 0 : lengths.get(last)));
  }
  const chain = [];
  for (let id = heaviest([...lengths.keys()], lengths); id !== null; id = before.get(id)) chain.unshift(id);
  return chain;
}

function heaviest(ids, lengths) {
  return ids.reduce((most, id) => (most === null || lengths.get(id) > lengths.get(most) ? id : most), null);
}

function withWaits(steps) {
  return steps.flatMap((step, index) => {
    const before = steps[index - 1];
    if (!before || step.from <= before.to) return [step];
    return [{ kind: "wait", from: before.to, to: step.from, task: step.task ?? null }, step];
  });
}
