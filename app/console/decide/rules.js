/** What would make a plan impossible, found while it is written: the rules that the service holds it to as well. */

import { count } from "../format.js";

const ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const TASKS_CEILING = 100;
const TEXTS = { title: 1000, instruction: 100_000, context: 100_000, success_criterion: 20_000 };
const BOUNDS = {
  tokens: { least: 1, most: Infinity, whole: true },
  steps: { least: 1, most: 100, whole: true },
  timeout_s: { least: 0, most: 86_400, whole: false },
  deadline_s: { least: 0, most: 86_400, whole: false },
};
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Cs}\p{Mn}\p{Me}\p{Zs}\p{Zl}\p{Zp}\ufffd\u115f\u1160\u2800\u3164\uffa0]*$/u;

/** The flaws of tasks, as `{pointer, code, detail}`; the pointers are those of the service's own report. */
export function flawsOf(tasks, workers, tasksAllowed) {
  const flaws = [];
  const flaw = (pointer, code, detail) => flaws.push({ pointer, code, detail });
  if (!tasks.length) flaw("/tasks", "plan_empty", "The plan has no tasks.");
  if (tasks.length > tasksAllowed) {
    flaw("/tasks", "plan_too_large", `The plan has ${tasks.length} tasks; at most ${tasksAllowed} are allowed.`);
  }
  if (tasks.length > TASKS_CEILING) return flaws;
  const seen = new Set();
  tasks.forEach((task, index) => {
    const at = `/tasks/${index}`;
    ofTask(task, at, { seen, workers, flaw });
    seen.add(task.id);
  });
  ofLines(tasks, flaw);
  return flaws;
}

function ofTask(task, at, { seen, workers, flaw }) {
  if (!ID.test(task.id)) flaw(`${at}/id`, "id_invalid", "An id has small letters, digits, - and _, at most 64.");
  if (seen.has(task.id)) flaw(`${at}/id`, "id_duplicate", `Another task is called ${task.id} already.`);
  if (INVISIBLE.test(task.instruction)) flaw(`${at}/instruction`, "instruction_blank", "The task has no instruction.");
  if (!task.worker) flaw(`${at}/worker`, "worker_missing", "Nobody does the task.");
  else if (!workers.includes(task.worker)) {
    flaw(`${at}/worker`, "worker_unknown", `The team has no worker ${task.worker}.`);
  }
  for (const [name, longest] of Object.entries(TEXTS)) {
    if (task[name].length > longest) flaw(`${at}/${name}`, "too_long", `At most ${count(longest)} characters.`);
  }
  for (const [name, bound] of Object.entries(BOUNDS)) {
    const value = task.budget[name] ?? null;
    if (value !== null && !fits(value, bound)) flaw(`${at}/budget/${name}`, "out_of_range", rangeOf(bound));
  }
}

function ofLines(tasks, flaw) {
  const ids = new Set(tasks.map(({ id }) => id));
  tasks.forEach(({ id, depends_on }, index) => {
    depends_on.forEach((needed, place) => {
      const at = `/tasks/${index}/depends_on/${place}`;
      if (needed === id) flaw(at, "dependency_on_itself", "A task cannot depend on itself.");
      else if (!ids.has(needed)) flaw(at, "dependency_unknown", `${needed} is not in the plan.`);
    });
  });
  const waiting = waitingForEachOther(tasks);
  if (waiting.length) flaw("/tasks", "cycle", `Tasks wait for each other: ${waiting.join(", ")}.`);
}

/** What is left when every task that can be done is taken out, again and again. */
function waitingForEachOther(tasks) {
  let left = tasks;
  for (;;) {
    const ids = new Set(left.map(({ id }) => id));
    const stuck = left.filter(({ id, depends_on }) => depends_on.some((needed) => needed !== id && ids.has(needed)));
    if (stuck.length === left.length || !stuck.length) return stuck.map(({ id }) => id);
    left = stuck;
  }
}

function fits(value, { least, most, whole }) {
  if (!Number.isFinite(value) || value > most) return false;
  return whole ? Number.isInteger(value) && value >= least : value > least;
}

function rangeOf({ least, most, whole }) {
  if (!whole) return `A number above ${least}, at most ${count(most)}.`;
  return `A whole number, ${least}${Number.isFinite(most) ? ` to ${count(most)}` : " and more"}.`;
}
