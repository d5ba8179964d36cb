/**
 * What the lanes show, told from the fold of a run: a row for each part of the supervisor's work and for each task, and
 * what is in them. Nothing here draws. Moments are milliseconds; `to` is null for what goes on.
 */

import { joined, without } from "./axis.js";
import { CriticalPath } from "./critical_path.js";

const SUPERVISOR = [
  { key: "planning", name: "Planning", purposes: ["plan"] },
  { key: "rulings", name: "Rulings", purposes: ["rule", "refine"] },
  { key: "synthesis", name: "Answer", purposes: ["select", "reduce", "synthesize"] },
  { key: "review", name: "Review", purposes: ["review", "verify", "arbitrate"] },
];
const ROW_OF = new Map(SUPERVISOR.flatMap(({ key, purposes }) => purposes.map((purpose) => [purpose, key])));
/** Waits in which nothing of the run is at work; while it waits for nested runs, these are. */
const IDLE = new Set(["plan_approval", "answer", "provider"]);

export class LaneModel {
  #fold;
  #path = new CriticalPath();
  /** Calls by the key of their row: a task's id, or a part of the supervisor's work. */
  #calls = new Map();
  #tools = new Map();
  #taken = { calls: 0, tools: 0 };
  #seq = 0;
  /** What is in the rows that somebody has asked for since the last event. */
  #items = new Map();

  constructor(fold) {
    this.#fold = fold;
  }

  /** Take in what is new; gives `{rows, path, bounding, busy, from, to}` up to `now`. */
  look(now) {
    const fold = this.#fold;
    for (const call of fold.calls.slice(this.#taken.calls)) add(this.#calls, rowKeyOf(call), call);
    for (const tool of fold.tools.slice(this.#taken.tools)) add(this.#tools, `task:${tool.taskId}`, tool);
    this.#taken = { calls: fold.calls.length, tools: fold.tools.length };
    if (fold.lastSeq !== this.#seq) this.#items.clear();
    this.#seq = fold.lastSeq;
    const to = fold.until(now);
    const path = this.#path.take(fold.events).told(to);
    const from = fold.queuedAt ?? to;
    return {
      rows: this.#rows(path),
      path,
      bounding: boundingKeys(path),
      busy: this.#busy(path, to),
      from,
      to: Math.max(to, from + 1),
    };
  }

  #rows(path) {
    const critical = new Set(path.tasks);
    const supervisor = SUPERVISOR.filter(
      ({ key }) => this.#calls.has(`supervisor:${key}`) || path.steps.some((step) => step.kind === key),
    ).map(({ key, name }) => ({
      key: `supervisor:${key}`,
      part: key,
      name,
      task: null,
      tracks: 1,
      critical: key === "planning" || key === "synthesis",
    }));
    const tasks = [...this.#fold.tasks.values()].map((task) => ({
      key: `task:${task.id}`,
      name: task.id,
      task,
      tracks: Math.max(1, ...tracksOf(task.attempts).values()),
      critical: critical.has(task.id),
    }));
    const before = supervisor.filter(({ part }) => part === "planning" || part === "rulings");
    return [...before, ...tasks, ...supervisor.filter((row) => !before.includes(row))];
  }

  /** What is in a row, in the order in which it begins: waits, attempts, and the calls within them. */
  items(row, { path }) {
    if (!this.#items.has(row.key)) this.#items.set(row.key, this.#itemsOf(row, path));
    return this.#items.get(row.key);
  }

  #itemsOf(row, path) {
    const items = row.task ? this.#taskItems(row.task) : this.#frames(row, path);
    const tracks = row.task ? tracksOf(row.task.attempts) : new Map();
    for (const call of this.#calls.get(row.key) ?? []) {
      const { seq, startedAt: from, finishedAt: to, ok, taskId, attempt } = call;
      const state = ok ? "succeeded" : "failed";
      items.push({
        key: `call:${seq}`,
        kind: "call",
        from,
        to,
        track: tracks.get(attempt) ?? 1,
        state,
        taskId,
        attempt,
        call,
      });
    }
    for (const tool of row.task ? (this.#tools.get(row.key) ?? []) : []) {
      const { seq, startedAt: from, finishedAt: to, ok, taskId, attempt } = tool;
      const ends = row.task.attempts[attempt - 1]?.finishedAt ?? null;
      const state = ok === null ? "running" : ok ? "succeeded" : "failed";
      items.push({
        key: `tool:${seq}`,
        kind: "tool",
        from,
        to: to ?? ends,
        track: tracks.get(attempt) ?? 1,
        state,
        taskId,
        attempt,
        tool,
      });
    }
    return items.sort((one, other) => one.from - other.from);
  }

  #frames({ part, key }, path) {
    const step = path.steps.find(({ kind }) => kind === part);
    if (!step) return [];
    const goesOn = this.#fold.finishedAt === null && step.to === path.until;
    const to = goesOn ? null : step.to;
    return [
      {
        key: `${key}:frame`,
        kind: "phase",
        from: step.from,
        to,
        track: 1,
        state: goesOn ? "running" : "succeeded",
        part,
      },
    ];
  }

  #taskItems(task) {
    const tracks = tracksOf(task.attempts);
    const attempts = task.attempts.map((attempt) => ({
      key: `attempt:${task.id}:${attempt.number}`,
      kind: "attempt",
      from: attempt.startedAt,
      to: attempt.finishedAt,
      track: tracks.get(attempt.number),
      state: attempt.status,
      taskId: task.id,
      attempt: attempt.number,
      tried: attempt,
      child: this.#childOf(task.id, attempt.number),
    }));
    return [...this.#beforeFirst(task), ...this.#between(task), ...attempts];
  }

  #childOf(taskId, attempt) {
    return (
      [...this.#fold.children.values()].find((child) => child.taskId === taskId && child.attempt === attempt) ?? null
    );
  }

  /** What a task waits for before its first attempt: others, then a place. */
  #beforeFirst(task) {
    const { plans, tasks, startedAt } = this.#fold;
    const plannedAt = [...plans.values()].find((plan) => plan.tasks.some(({ id }) => id === task.id))?.at ?? startedAt;
    if (task.reused || plannedAt === null) return [];
    const begun = task.attempts[0]?.startedAt ?? task.finishedAt;
    const needed = task.plan.depends_on
      .map((id) => tasks.get(id))
      .map((each) => each?.droppedAt ?? each?.finishedAt ?? null);
    const ready = needed.includes(null) ? begun : Math.max(plannedAt, ...needed);
    const wait = (kind, from, to) => ({
      key: `${kind}:${task.id}`,
      kind,
      from,
      to,
      track: 1,
      state: "pending",
      taskId: task.id,
      attempt: null,
    });
    const before = ready === null || ready > plannedAt ? [wait("before", plannedAt, ready)] : [];
    return ready !== null && (begun === null || begun > ready) ? [...before, wait("queue", ready, begun)] : before;
  }

  /** What it waits for between attempts, and after the latest: an answer, or the time of the next one. */
  #between(task) {
    const gaps = [];
    let until = null;
    let last = null;
    for (const attempt of [...task.attempts, { startedAt: task.finishedAt, number: null }]) {
      if (until !== null && (attempt.startedAt === null || attempt.startedAt > until)) {
        gaps.push(this.#gap(task, last, until, attempt.startedAt));
      }
      if (attempt.number === null || attempt.finishedAt === null) break;
      if (until === null || attempt.finishedAt > until) [until, last] = [attempt.finishedAt, attempt];
    }
    return gaps;
  }

  #gap(task, attempt, from, to) {
    const question =
      [...this.#fold.questions.values()].find((each) => each.taskId === task.id && each.askedAt === from) ?? null;
    const kind = question ? "question" : "pause";
    const state = question ? "waiting" : "pending";
    return {
      key: `${kind}:${task.id}:${attempt.number}`,
      kind,
      from,
      to,
      track: 1,
      state,
      taskId: task.id,
      attempt: attempt.number,
      question,
    };
  }

  /** When something of the run was at work. */
  #busy(path, to) {
    const { calls, tools, tasks, waits } = this.#fold;
    const idle = waits.filter(({ reason }) => IDLE.has(reason)).map((wait) => ({ from: wait.from, to: wait.to ?? to }));
    const attempts = [...tasks.values()]
      .flatMap((task) => task.attempts)
      .map(({ startedAt, finishedAt }) => ({ from: startedAt, to: finishedAt ?? to }));
    const phases = path.steps.filter(({ kind }) => kind === "planning" || kind === "synthesis");
    const frames = without(joined([...attempts, ...phases], -Infinity, Infinity), idle);
    const within = [...calls, ...tools].map((each) => ({
      from: each.startedAt,
      to: each.finishedAt ?? each.startedAt,
    }));
    return joined([...frames, ...within], -Infinity, Infinity);
  }
}

/** The keys of what bounded the run: attempts, and what the supervisor did before and after them. */
function boundingKeys({ steps }) {
  const keys = steps.map(({ kind, task, attempt }) =>
    kind === "task" ? `attempt:${task}:${attempt}` : `supervisor:${kind}:frame`,
  );
  return new Set(keys);
}

function rowKeyOf({ taskId, purpose }) {
  return taskId && purpose === "work" ? `task:${taskId}` : `supervisor:${ROW_OF.get(purpose) ?? "synthesis"}`;
}

function add(lists, key, value) {
  if (!lists.has(key)) lists.set(key, []);
  lists.get(key).push(value);
}

/** The track of each attempt within the task's row, from 1: such as are made side by side are drawn so. */
function tracksOf(attempts) {
  const ends = [];
  const tracks = new Map();
  for (const { number, startedAt, finishedAt, beside } of attempts) {
    const free = ends.findIndex((end, track) => end <= startedAt && tracks.get(beside) !== track + 1);
    const track = free < 0 ? ends.length : free;
    ends[track] = finishedAt ?? Infinity;
    tracks.set(number, track + 1);
  }
  return tracks;
}
