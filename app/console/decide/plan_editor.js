/** Editing a plan that waits for approval: what it looks like, its tasks one by one, and what is wrong with it. */

import { get } from "../api.js";
import { ask } from "../dialog.js";
import { announce, fill, h, say, set } from "../dom.js";
import { plural } from "../format.js";
import { failure } from "../router.js";
import { graphDrawing } from "../run/drawing.js";
import { RunFold } from "../run/fold.js";
import { graphOf } from "../run/graph_model.js";
import { add, changesOf, draftOf, duplicate, marksOf, nodesOf, remove, tasksOf } from "./draft.js";
import { textField } from "./fields.js";
import { flawsView } from "./flaws.js";
import { meanwhile } from "./meanwhile.js";
import { flawsOf } from "./rules.js";
import { saved } from "./saving.js";
import { taskForm } from "./task_form.js";

const LABEL = "The plan as it would be: choose a task to edit it";
const NOTHING_DONE = new RunFold();
const REASON_CHARACTERS = 2000;

export class PlanEditor {
  element;
  #store;
  #leave;
  /** The revision that the edit is about. */
  #base;
  #draft;
  #workers = [];
  /** The task whose form is open. */
  #chosen = null;
  #form = null;
  /** What the service has found wrong with what was sent last. */
  #refused = [];
  #notice = null;
  #parts;
  #drawing;

  /** `leave()` is called when it is done with. */
  constructor(store, leave) {
    this.#store = store;
    this.#leave = leave;
    this.#drawing = graphDrawing(LABEL, (id) => this.#choose(this.#draft.tasks.find(({ key }) => String(key) === id)));
    this.#parts = this.#made();
    this.element = this.#layout();
    this.#begin(store.fold.plan);
    this.#loadWorkers();
  }

  /** Tell of what has become of the plan meanwhile; `open` is whether it still waits. */
  draw(open) {
    const { plan, approval } = this.#store.fold;
    const notice = open ? plan.revision : approval?.decided ?? "decided on";
    if (notice === this.#notice) return;
    this.#notice = notice;
    const { told, save, both } = this.#parts;
    for (const button of [save, both]) set(button, { hidden: !open });
    if (!open) {
      const late = `The plan has been ${notice} meanwhile. This edit cannot be saved any more.`;
      fill(told, h("p", { class: "notice" }, late));
    } else if (plan.revision === this.#base.revision) fill(told);
    else fill(told, meanwhile(this.#base, plan, { keep: () => this.#rebase(plan), restart: () => this.#begin(plan) }));
  }

  #made() {
    const button = (text, kind, click) => h("button", { type: "button", class: kind, on: { click } }, text);
    const write = (name) => (value) => this.#change(() => (this.#draft[name] = value));
    const text = (label, id, name) => textField(label, { id, rows: 2 }, write(name));
    return {
      goal: text("Goal", "edit-goal", "goal"),
      final: text("What the answer is to be like", "edit-final", "final_instruction"),
      reason: h("input", { id: "edit-reason", maxlength: REASON_CHARACTERS, autocomplete: "off" }),
      size: h("span", { class: "quiet small" }),
      form: h("div", { class: "task-form" }),
      told: h("div"),
      wrong: h("div"),
      flaws: flawsView((task, pointer) => this.#show(task, pointer)),
      save: button("Save", "main", () => this.#send(false)),
      both: button("Save and approve", null, () => this.#send(true)),
      added: button("Add a task", null, () => this.#add()),
      left: button("Leave without saving", null, () => this.#left()),
      again: button("Duplicate", null, () => this.#choose(duplicate(this.#draft, this.#chosen))),
      removed: button("Remove", "danger", () => this.#remove()),
    };
  }

  #layout() {
    const { goal, final, reason, size, form, told, wrong, flaws, save, both, added, left } = this.#parts;
    return h("div", { class: "plan-editor stack" }, h("hr"),
      h("div", { class: "row" },
        h("h2", {}, "Edit the plan"), size, h("span", { class: "push" }), this.#drawing.controls, added),
      told, h("div", { class: "plan" }, this.#drawing.element), form,
      h("div", { class: "two" }, goal.element, final.element),
      h("div", { class: "field" }, h("label", { for: reason.id }, "Why"), reason,
        h("span", { class: "hint" }, "Shown with the revision; may be left out.")),
      flaws.element, wrong, h("div", { class: "actions" }, save, both, left));
  }

  /** Begin with a revision as it is. */
  #begin(plan) {
    this.#base = plan;
    this.#draft = draftOf(plan);
    this.#parts.goal.set(plan.goal);
    this.#parts.final.set(plan.final_instruction);
    this.#refused = [];
    fill(this.#parts.told);
    this.#choose(this.#draft.tasks[0]);
  }

  /** Let the edit be about a newer revision: it takes the place of what that one says. */
  #rebase(plan) {
    this.#base = plan;
    fill(this.#parts.told);
    this.#validate();
  }

  #choose(task) {
    this.#chosen = task ?? null;
    const options = { draft: this.#draft, task, workers: this.#everyWorker(), onChange: (how) => this.#change(how) };
    this.#form = task ? taskForm(options) : null;
    const { form, again, removed } = this.#parts;
    fill(form, this.#form
      ? [this.#form.element, h("div", { class: "actions" }, again, removed)]
      : h("p", { class: "empty" }, "Choose a task in the graph, or add one."));
    this.#validate();
  }

  #show(task, pointer) {
    if (task !== this.#chosen) this.#choose(task);
    this.#form.focus(pointer);
  }

  #add() {
    this.#choose(add(this.#draft, this.#workers[0]?.name ?? ""));
    this.#form.focus("/tasks/0/title");
  }

  #remove() {
    const index = this.#draft.tasks.indexOf(this.#chosen);
    remove(this.#draft, this.#chosen);
    this.#choose(this.#draft.tasks[Math.min(index, this.#draft.tasks.length - 1)]);
    announce("The task is out. Nothing is saved yet.");
  }

  #change(how) {
    how();
    this.#refused = [];
    this.#validate();
  }

  #everyWorker() {
    return [...this.#workers, ...this.#draft.workers];
  }

  /** Hold the draft against the rules, and draw it as it is now. */
  #validate() {
    const tasks = tasksOf(this.#draft);
    const workers = this.#workers.length ? this.#everyWorker() : tasks.map(({ worker }) => ({ name: worker }));
    const rules = flawsOf(tasks, workers.map(({ name }) => name), this.#store.run.limits.tasks);
    const flaws = [...rules, ...this.#refused];
    this.#drawGraph(flaws);
    this.#form?.show(flaws, this.#draft.tasks.indexOf(this.#chosen));
    const { size, save, both } = this.#parts;
    say(size, plural(tasks.length, "task"));
    this.#parts.flaws.show(flaws, this.#draft.tasks);
    for (const button of [save, both]) set(button, { disabled: rules.length > 0 });
  }

  #drawGraph(flaws) {
    const nodes = nodesOf(this.#draft);
    const planned = new Map(nodes.map((node) => [node.id, node]));
    const changes = marksOf(this.#draft, this.#base, flaws);
    const address = () => location.pathname + location.search;
    const graph = graphOf({ tasks: nodes }, NOTHING_DONE, { ends: false });
    this.#drawing.show(graph, { fold: NOTHING_DONE, planned, changes, address, now: 0 });
    this.#drawing.choose(this.#chosen ? String(this.#chosen.key) : null);
  }

  async #loadWorkers() {
    const { name, version } = this.#store.run.team;
    try {
      this.#workers = (await get(`/v1/teams/${name}@${version}`, { signal: this.#store.signal })).workers;
      this.#form?.offer(this.#everyWorker());
      this.#validate();
    } catch (error) {
      fill(this.#parts.wrong, failure(error, () => this.#loadWorkers()));
    }
  }

  async #send(approve) {
    const { wrong, reason, save, both } = this.#parts;
    fill(wrong);
    for (const button of [save, both]) set(button, { disabled: true });
    try {
      const changes = { ...changesOf(this.#draft, this.#base), reason: reason.value.trim() || null };
      const { revision, run } = await saved(this.#store.id, this.#base.revision, changes, approve);
      if (run) this.#store.take(run);
      announce(`Revision ${revision} is saved${approve ? " and approved" : ", and waits for approval"}.`);
      this.#leave();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#refused = error.status === 422 ? error.errors.map((each) => ({ pointer: "", ...each })) : [];
      if (!this.#refused.length) fill(wrong, failure(error));
      this.#validate();
    }
  }

  async #left() {
    const isChanged = Object.keys(changesOf(this.#draft, this.#base)).length > 0;
    const lost = h("p", {}, "What has been changed here is lost.");
    const words = { action: "Leave it", leave: "Go on editing" };
    if (!isChanged || (await ask("Leave the plan as it is?", lost, words))) this.#leave();
  }
}
