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
import { approve, save, unsavedEdit } from "./saving.js";
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
  #isOpen = true;
  #isSending = false;
  #written;
  #closed = new AbortController();
  #parts;
  #drawing;

  /** `leave()` is called when it is done with. */
  constructor(store, leave) {
    this.#store = store;
    this.#leave = leave;
    this.#drawing = graphDrawing(LABEL, (id) => this.#choose(this.#draft.tasks.find(({ key }) => String(key) === id)));
    this.#parts = this.#made();
    this.element = this.#layout();
    this.#written = unsavedEdit(store.id);
    this.#open();
    this.#loadWorkers();
    const asked = (event) => this.#isOpen && this.#isChanged() && event.preventDefault();
    window.addEventListener("beforeunload", asked, { signal: this.#closed.signal });
    store.signal.addEventListener("abort", () => this.close());
  }

  /** It is no longer shown. What was not saved is kept. */
  close() {
    this.#closed.abort();
  }

  /** Tell of what has become of the plan meanwhile; `open` is whether it still waits. */
  draw(open) {
    const { plan, approval } = this.#store.fold;
    const notice = open ? plan.revision : approval?.decided ?? "decided on";
    // While it is being saved, and until the event of that has come, there is nothing to tell.
    if (notice === this.#notice || this.#isSending || (open && plan.revision < this.#base.revision)) return;
    this.#notice = notice;
    this.#isOpen = open;
    const { told, save, both } = this.#parts;
    for (const button of [save, both]) set(button, { hidden: !open });
    const isSame = !this.#isChanged(plan);
    if (!open) {
      const late = isSame ? ", as it stands here." : " meanwhile. This edit cannot be saved any more.";
      fill(told, h("p", { class: "notice" }, `The plan has been ${notice}${late}`));
    } else if (plan.revision === this.#base.revision) fill(told);
    else if (isSame) this.#settle(plan);
    else fill(told, meanwhile(this.#base, plan, { keep: () => this.#rebase(plan), restart: () => this.#begin(plan) }));
  }

  #made() {
    const button = (text, kind, click) => h("button", { type: "button", class: kind, on: { click } }, text);
    const write = (name) => (value) => this.#change(() => (this.#draft[name] = value));
    const text = (label, id, name) => textField(label, { id, rows: 2 }, write(name));
    return {
      goal: text("Goal", "edit-goal", "goal"),
      final: text("What the answer is to be like", "edit-final", "final_instruction"),
      reason: h("input", { id: "edit-reason", maxlength: REASON_CHARACTERS, autocomplete: "off",
        on: { input: () => this.#keep() } }),
      size: h("span", { class: "quiet small" }),
      form: h("div", { class: "task-form" }),
      resumed: h("div"),
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
    const { goal, final, reason, size, form, resumed, told, wrong, flaws, save, both, added, left } = this.#parts;
    return h("div", { class: "plan-editor stack" }, h("hr"),
      h("div", { class: "row" },
        h("h2", {}, "Edit the plan"), size, h("span", { class: "push" }), this.#drawing.controls, added),
      resumed, told, h("div", { class: "plan" }, this.#drawing.element), form,
      h("div", { class: "two" }, goal.element, final.element),
      h("div", { class: "field" }, h("label", { for: reason.id }, "Why"), reason,
        h("span", { class: "hint" }, "Shown with the revision; may be left out.")),
      flaws.element, wrong, h("div", { class: "actions" }, save, both, left));
  }

  /** Begin with the edit that was not saved, if there is one, and else with the plan as it is. */
  #open() {
    const { plan, plans } = this.#store.fold;
    const kept = this.#written.read();
    const base = kept && plans.get(kept.revision);
    if (!base) return this.#begin(plan);
    this.#parts.reason.value = kept.reason;
    this.#begin(base, kept.draft);
    const anew = h("button", { type: "button", on: { click: () => this.#begin(plan) } }, "Begin anew");
    const words = "This is your edit as you left it. It is not saved.";
    fill(this.#parts.resumed, h("div", { class: "notice row" }, h("p", {}, words), anew));
  }

  /** Begin with a revision as it is, or as it was edited. */
  #begin(plan, draft = draftOf(plan)) {
    const { goal, final, resumed, told, wrong } = this.#parts;
    this.#base = plan;
    this.#draft = draft;
    goal.set(draft.goal);
    final.set(draft.final_instruction);
    this.#refused = [];
    for (const part of [resumed, told, wrong]) fill(part);
    this.#choose(draft.tasks[0]);
  }

  /** Let the edit be about a newer revision: it takes the place of what that one says. */
  #rebase(plan) {
    this.#base = plan;
    for (const part of [this.#parts.told, this.#parts.wrong]) fill(part);
    this.#validate();
  }

  /** The edit has become this revision. */
  #settle(plan) {
    const { resumed, told, wrong, reason } = this.#parts;
    this.#base = plan;
    this.#notice = plan.revision;
    reason.value = "";
    for (const part of [resumed, wrong]) fill(part);
    fill(told, h("p", { class: "notice" }, `Saved as revision ${plan.revision}; not approved yet.`));
    this.#keep();
  }

  #isChanged(plan = this.#base) {
    return Object.keys(changesOf(this.#draft, plan)).length > 0;
  }

  /** Keep what is not saved. */
  #keep() {
    const reason = this.#parts.reason.value;
    if (!this.#isChanged() && !reason.trim()) this.#written.forget();
    else this.#written.write({ revision: this.#base.revision, draft: this.#draft, reason });
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
    this.#keep();
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

  async #send(isApproved) {
    const { wrong, reason, save: first, both } = this.#parts;
    const { id } = this.#store;
    fill(wrong);
    this.#isSending = true;
    for (const button of [first, both]) set(button, { disabled: true });
    try {
      const changes = { ...changesOf(this.#draft, this.#base), reason: reason.value.trim() || null };
      const plan = await save(id, this.#base.revision, changes);
      this.#settle(plan);
      if (isApproved) this.#store.take(await approve(id, plan.revision));
      announce(`Revision ${plan.revision} is saved${isApproved ? " and approved" : ", and waits for approval"}.`);
      this.#leave();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#refused = error.status === 422 ? error.errors.map((each) => ({ pointer: "", ...each })) : [];
      if (!this.#refused.length) fill(wrong, failure(error));
      this.#validate();
    } finally {
      this.#isSending = false;
      this.#store.changed();
    }
  }

  async #left() {
    const lost = h("p", {}, "What has been changed here is lost.");
    const words = { action: "Leave it", leave: "Go on editing" };
    if (this.#isChanged() && !(await ask("Leave the plan as it is?", lost, words))) return;
    this.#written.forget();
    this.#leave();
  }
}
