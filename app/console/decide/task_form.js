/** The form of one task of a plan that is edited. */

import { fill, h, set } from "../dom.js";
import { beginning } from "../format.js";
import { choiceField, textField } from "./fields.js";
import { setNeed, wouldCircle } from "./draft.js";

const COMPLETE = "Complete in itself: the worker sees nothing else of the job.";
const AS_THE_WORKER = "As the worker has it when left out.";
const WORKER_CHARACTERS = 110;
const BOUNDS = [
  ["tokens", "Tokens", "Of all its attempts together.", 1],
  ["steps", "Steps", "Replies of the model in one attempt.", 1],
  ["timeout_s", "Seconds an attempt", "", "any"],
  ["deadline_s", "Seconds in all", "Waits and all attempts together.", "any"],
];

/** `{element, show(flaws, index), focus(pointer), offer(workers)}`; changes go through `onChange(how)`. */
export function taskForm({ draft, task, workers, onChange }) {
  const text = (name, label, options) => {
    const made = textField(label, { id: `task-${name}`, ...options }, (value) => onChange(() => (task[name] = value)));
    made.set(task[name]);
    return made;
  };
  const fields = {
    title: text("title", "Title", { autocomplete: "off" }),
    id: text("id", "Id", { autocomplete: "off", spellcheck: "false", class: "mono" }),
    instruction: text("instruction", "Instruction", { rows: 5, hint: COMPLETE }),
    context: text("context", "Context", { rows: 2 }),
    success_criterion: text("success_criterion", "It is done when", { rows: 2 }),
    worker: workerField(task, [...workers, ...draft.workers], onChange),
    ...Object.fromEntries(BOUNDS.map((bound) => [`budget/${bound[0]}`, boundField(task, bound, onChange)])),
  };
  const needs = h("fieldset", { class: "needs" });
  const missing = missingField(task, onChange);
  const element = h("div", { class: "stack" },
    h("div", { class: "two" }, fields.title.element, fields.id.element),
    fields.instruction.element,
    h("div", { class: "two" }, fields.context.element, fields.success_criterion.element),
    h("div", { class: "two" },
      h("div", { class: "stack" }, fields.worker.element, requiredBox(task, onChange), missing.element), needs),
    h("details", {}, h("summary", {}, "Bounds of its own"),
      h("div", { class: "bounds" }, BOUNDS.map(([name]) => fields[`budget/${name}`].element))));
  drawNeeds();
  return { element, show, focus, offer: (some) => offer(fields.worker, task, some) };

  function show(flaws, index) {
    const at = `/tasks/${index}/`;
    for (const [name, field] of Object.entries(fields)) {
      const own = flaws.filter(({ pointer }) => pointer === `${at}${name}`);
      field.wrong(own.map(({ detail }) => detail).join(" "));
    }
    drawNeeds(flaws.filter(({ pointer }) => pointer.startsWith(`${at}depends_on`)));
  }

  function focus(pointer) {
    const name = pointer.split("/").slice(3).join("/");
    const control = fields[name]?.control ?? needs.querySelector("input:enabled");
    control?.closest("details")?.setAttribute("open", "");
    control?.focus();
  }

  /** The other tasks; those that wait for this one cannot be waited for. */
  function drawNeeds(flaws = []) {
    const others = draft.tasks.filter((other) => other !== task);
    const form = JSON.stringify([others.map((each) => [each.key, each.id, each.title, each.needs]), task.needs, flaws]);
    if (needs.dataset.form === form) return;
    const had = needs.contains(document.activeElement) ? document.activeElement.value : null;
    needs.dataset.form = form;
    fill(needs, h("legend", {}, "Begins after"),
      others.length ? others.map(needBox) : h("p", { class: "quiet small" }, "There are no other tasks."),
      flaws.map(({ detail }) => h("p", { class: "wrong" }, detail)));
    if (had !== null) needs.querySelector(`input[value="${had}"]`)?.focus();
  }

  function needBox(other) {
    const circles = wouldCircle(draft, task, other);
    const change = (event) => onChange(() => setNeed(task, other, event.target.checked));
    const state = { value: String(other.key), checked: task.needs.includes(other.key), disabled: circles };
    const box = h("input", { type: "checkbox", ...state, on: { change } });
    const why = circles && h("span", { class: "small" }, " (waits for this one)");
    return h("label", { class: circles ? "quiet" : null }, box, ` ${other.title || other.id}`, why);
  }
}

function workerField(task, workers, onChange) {
  const field = choiceField("Worker", { id: "task-worker" }, (value) => onChange(() => (task.worker = value)));
  offer(field, task, workers);
  return field;
}

/** Have these workers to choose from, and whom the task names. */
function offer(field, task, workers) {
  const known = workers.some(({ name }) => name === task.worker);
  const named = ({ name, description, team }) => {
    const words = [team && `team ${team}.`, description].filter(Boolean).join(" ");
    return h("option", { value: name }, words ? beginning(`${name}: ${words}`, WORKER_CHARACTERS) : name);
  };
  fill(field.control, known ? null : h("option", { value: task.worker }, task.worker || "nobody"), workers.map(named));
  field.set(task.worker);
}

function boundField(task, [name, label, hint, step], onChange) {
  const take = (value) => onChange(() => (task.budget[name] = value === "" ? null : Number(value)));
  const kind = { type: "number", min: 0, step, inputmode: "decimal" };
  const field = textField(label, { id: `task-${name}`, hint: hint || AS_THE_WORKER, ...kind }, take);
  field.set(task.budget[name]);
  return field;
}

function requiredBox(task, onChange) {
  const change = () => onChange(() => (task.required = box.checked));
  const box = h("input", { type: "checkbox", checked: task.required, on: { change } });
  return h("label", {}, box, " The run cannot succeed without it");
}

function missingField(task, onChange) {
  const take = (value) => onChange(() => (task.on_missing_input = value));
  const field = choiceField("When a task before it has failed", { id: "task-missing" }, take);
  const option = (value, text) => h("option", { value }, text);
  fill(field.control, option("skip", "leave it out"), option("proceed", "do it all the same, and say what is missing"));
  set(field.control, { value: task.on_missing_input });
  return field;
}
