/**
 * A plan while somebody edits it. Tasks hang on each other by keys of our own, so that an id may be another one at any
 * time without a line being lost.
 */

const OF_PLAN = ["goal", "strategy", "final_instruction"];
const OF_TASK = [
  "id", "title", "instruction", "context", "success_criterion", "worker", "depends_on", "required", "on_missing_input",
];
const BOUNDS = ["tokens", "steps", "timeout_s", "deadline_s"];

/** A plan as it can be edited; `revision` is the one that the edit is about. */
export function draftOf(plan) {
  const tasks = plan.tasks.map((task, index) => ({ ...structuredClone(task), key: index, budget: { ...task.budget } }));
  const keys = new Map(tasks.map(({ id, key }) => [id, key]));
  for (const task of tasks) {
    task.needs = task.depends_on.map((id) => keys.get(id)).filter((key) => key !== undefined);
    delete task.depends_on;
  }
  const { revision, goal, strategy, final_instruction, workers = [] } = plan;
  return { revision, goal, strategy, final_instruction, workers, tasks, nextKey: tasks.length };
}

/** The tasks as the API has them. */
export function tasksOf({ tasks }) {
  const ids = new Map(tasks.map(({ id, key }) => [key, id]));
  return tasks.map(({ key, needs, ...task }) => ({ ...task, depends_on: needs.map((each) => ids.get(each)) }));
}

/** What an edit sends: the fields that are not as they are in `plan`. */
export function changesOf(draft, plan) {
  const changes = {};
  for (const name of OF_PLAN) if (draft[name] !== plan[name]) changes[name] = draft[name];
  const tasks = tasksOf(draft);
  if (JSON.stringify(tasks.map(inOrder)) !== JSON.stringify(plan.tasks.map(inOrder))) changes.tasks = tasks;
  return changes;
}

/** The tasks as nodes of a graph, named by their keys: ids may be anything while they are written. */
export function nodesOf({ tasks }) {
  return tasks.map((task) => {
    const { key, id, title, needs } = task;
    return { ...task, id: String(key), title: title || id || "no name", depends_on: needs.map(String) };
  });
}

/** What there is to say of each task, by its key: that it is to be mended, new, or not as it was. */
export function marksOf(draft, plan, flaws) {
  const before = new Map(plan.tasks.map((task) => [task.id, task]));
  const marks = tasksOf(draft).map((task, index) => {
    const old = before.get(task.id);
    if (flaws.some(({ pointer }) => pointer.startsWith(`/tasks/${index}/`))) return "to mend";
    if (!old) return "new";
    return JSON.stringify(inOrder(old)) === JSON.stringify(inOrder(task)) ? null : "changed";
  });
  return new Map(draft.tasks.map(({ key }, index) => [String(key), marks[index]]).filter(([, mark]) => mark));
}

/** Add a task; gives the new one. */
export function add(draft, worker) {
  const task = {
    id: freeId(draft, "task"), title: "", instruction: "", context: "", success_criterion: "", worker,
    required: true, on_missing_input: "skip", budget: Object.fromEntries(BOUNDS.map((name) => [name, null])),
    key: draft.nextKey++, needs: [],
  };
  draft.tasks.push(task);
  return task;
}

/** Put the same task there once more, behind it; gives the new one. */
export function duplicate(draft, task) {
  const again = { ...structuredClone(task), key: draft.nextKey++, id: freeId(draft, task.id) };
  draft.tasks.splice(draft.tasks.indexOf(task) + 1, 0, again);
  return again;
}

/** Take a task out, and the lines from it. */
export function remove(draft, task) {
  draft.tasks.splice(draft.tasks.indexOf(task), 1);
  for (const other of draft.tasks) other.needs = other.needs.filter((key) => key !== task.key);
}

/** Have a task depend on another one, or no longer. */
export function setNeed(task, other, wanted) {
  task.needs = task.needs.filter((key) => key !== other.key);
  if (wanted) task.needs.push(other.key);
}

/** Whether a task would wait for itself if it depended on `other`. */
export function wouldCircle(draft, task, other) {
  const byKey = new Map(draft.tasks.map((each) => [each.key, each]));
  const seen = new Set();
  const waits = [other.key];
  for (const key of waits) {
    if (key === task.key) return true;
    if (seen.has(key)) continue;
    seen.add(key);
    waits.push(...(byKey.get(key)?.needs ?? []));
  }
  return false;
}

function freeId({ tasks }, wanted) {
  const taken = new Set(tasks.map(({ id }) => id));
  const stem = wanted.replace(/-\d+$/, "").slice(0, 58);
  for (let number = 2; ; number++) if (!taken.has(`${stem}-${number}`)) return `${stem}-${number}`;
}

function inOrder({ budget, ...task }) {
  return [...OF_TASK.map((name) => task[name]), BOUNDS.map((name) => budget[name] ?? null)];
}
