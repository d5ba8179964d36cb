/** What the graph of a run shows, as plain values: nodes with their sizes, and the lines between them. */

import { bundled } from "./bundles.js";

export const NODE = { width: 216, height: 68 };
const CHILD_HEIGHT = 26;
const END = { width: 124, height: 40 };
const MANY_LINES = 150;

/**
 * The graph of a plan: its tasks between the steps of the supervisor, `plan` and `answer`.
 *
 * Nodes are `{id, kind, width, height}`; `kind` is `plan`, `answer`, `task` or `bundle`. A bundle has `members`, tasks
 * that hang on the same and that the same hang on, with their places in it. `removed` are tasks of the revision before
 * that are shown as well; without `ends` the supervisor's steps are left out.
 */
export function graphOf(plan, fold, { removed = [], ends = true } = {}) {
  const tasks = [...(plan?.tasks ?? []), ...removed].map((task) => sized(task, fold));
  const ids = new Set(tasks.map(({ id }) => id));
  const needed = tasks.flatMap(({ id, task }) => task.depends_on.map((from) => ({ from, to: id })))
    .filter(({ from }) => ids.has(from));
  const { nodes, edges } = bundled(tasks, needed.length > MANY_LINES ? withoutImplied(needed) : needed);
  return ends ? withEnds(nodes, edges, Boolean(plan)) : { nodes, edges };
}

/** A text that differs when the graph is to be placed anew. */
export function formOf({ nodes, edges }) {
  const sizes = nodes.map(({ id, width, height }) => [id, width, height]);
  return JSON.stringify([sizes, edges.map(({ from, to }) => [from, to])]);
}

/** The lines without those that longer ways imply. */
export function withoutImplied(edges) {
  const after = new Map();
  for (const { from, to } of edges) after.set(from, [...(after.get(from) ?? []), to]);
  const reached = new Map();
  const beyond = (id) => {
    if (!reached.has(id)) {
      reached.set(id, new Set());
      for (const next of after.get(id) ?? []) for (const each of [next, ...beyond(next)]) reached.get(id).add(each);
    }
    return reached.get(id);
  };
  return edges.filter(({ from, to }) => !after.get(from).some((next) => next !== to && beyond(next).has(to)));
}

function sized(task, fold) {
  const nested = fold.tasks.get(task.id)?.attempts.some((attempt) => attempt.child);
  return { id: task.id, kind: "task", task, width: NODE.width, height: NODE.height + (nested ? CHILD_HEIGHT : 0) };
}

function withEnds(nodes, edges, hasPlan) {
  const first = { id: "/plan", kind: "plan", ...END };
  if (!hasPlan) return { nodes: [first], edges: [] };
  const last = { id: "/answer", kind: "answer", ...END };
  const begun = new Set(edges.map(({ to }) => to));
  const used = new Set(edges.map(({ from }) => from));
  const before = nodes.filter(({ id }) => !begun.has(id)).map(({ id }) => ({ from: first.id, to: id }));
  const behind = nodes.filter(({ id }) => !used.has(id)).map(({ id }) => ({ from: id, to: last.id }));
  return { nodes: [first, ...nodes, last], edges: [...before, ...edges, ...behind] };
}
