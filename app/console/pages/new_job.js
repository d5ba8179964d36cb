/** The form of a new job: what it says, what it would take, and its start. What is typed stays until it is started. */

import { announce, fill, h } from "../dom.js";
import { plural } from "../format.js";
import { failure, go } from "../router.js";
import { Keeper } from "../job/draft.js";
import { Fields } from "../job/fields.js";
import { inputsPart } from "../job/inputs.js";
import { draftFor, writtenPlan } from "../job/prefill.js";
import { quotePanel } from "../job/quote.js";
import { curlOf } from "../job/request.js";
import { Intention } from "../job/start.js";
import { teamPart } from "../job/team.js";
import { furtherPart, limitsPart, peoplePart } from "../job/terms.js";

const DRY_RUN = "/v1/jobs?dry_run=true";
const PLANNED_WITHIN_MS = 90_000; // The service waits for a plan for 50 seconds before it answers without one.

export async function open({ root, query, signal }) {
  let search = null;
  let left = null;
  await show(query);
  return { title: "New job", follow: show };

  /** The form that an address asks for; each has its own. */
  async function show(asked, { anew = false } = {}) {
    if (location.search === search && !anew) return;
    search = location.search;
    left?.abort();
    left = new AbortController();
    const shown = AbortSignal.any([signal, left.signal]);
    const keeper = new Keeper(search);
    const kept = keeper.kept();
    const draft = kept?.draft ?? (await draftFor(asked, shown));
    if (shown.aborted) return;
    const empty = () => (search ? go("/console/new") : show(new URLSearchParams(), { anew: true }));
    new JobForm(fill(root), { draft, kept, keeper, signal: shown, empty });
  }
}

class JobForm {
  #quoted = null;
  #isTouched;

  constructor(root, { draft, kept, keeper, signal, empty }) {
    Object.assign(this, { draft, keeper, signal });
    this.#isTouched = Boolean(kept);
    this.starting = new Intention(kept?.starting);
    this.quoting = new Intention(kept?.quoting);
    this.fields = new Fields();
    this.wrong = h("div");
    this.panel = quotePanel({ startWithPlan: () => this.#start({ plan: writtenPlan(this.#quoted.plan) }) });
    this.start = h("button", { class: "main", type: "submit" }, "Start");
    this.quote = h("button", { type: "button", on: { click: () => this.#quote() } }, "Quote first");
    this.#draw(root, kept, empty);
    const leave = () => this.#isTouched && this.#keep();
    window.addEventListener("pagehide", leave, { signal });
    signal.addEventListener("abort", leave);
  }

  #draw(root, kept, empty) {
    const button = (text, click) => h("button", { type: "button", on: { click } }, text);
    const forget = button("Empty the form", () => {
      this.#isTouched = false;
      this.keeper.forget();
      empty();
    });
    const submit = (event) => {
      event.preventDefault();
      this.#start();
    };
    const actions = h("div", { class: "row" }, this.start, this.quote, button("Copy as curl", () => this.#copy()));
    root.append(
      h("div", { class: "row" }, h("h1", {}, "New job"), kept && h("p", { class: "quiet small" }, "As you left it."),
        h("span", { class: "push" }), forget),
      h("form", { class: "job", novalidate: true, on: { submit } },
        h("div", { class: "stack" }, this.#parts()),
        h("aside", { class: "stack", "aria-label": "Start" },
          h("div", { class: "panel stack" }, actions, this.wrong), this.panel.element)));
  }

  #parts() {
    const { draft, fields, signal } = this;
    const changed = () => this.#changed();
    const objective = h("textarea", { rows: 6, required: true, placeholder: "What is to be achieved, in plain words" });
    objective.value = draft.objective;
    objective.addEventListener("input", () => {
      draft.objective = objective.value;
      changed();
    });
    const limits = limitsPart(draft, fields, changed);
    const team = teamPart(draft, fields, { changed, chosen: (each) => limits.of(each), signal });
    return [
      h("div", { class: "panel stack" }, fields.field("/objective", "Objective", objective), team.element),
      inputsPart(draft, fields, changed).element, limits.element, peoplePart(draft, fields, changed),
      furtherPart(draft, fields, changed),
    ];
  }

  #changed() {
    this.#isTouched = true;
    if (this.#quoted) this.panel.age(true);
    this.keeper.soon(this.#kept());
  }

  #kept() {
    return { draft: this.draft, starting: this.starting.kept, quoting: this.quoting.kept };
  }

  #keep() {
    this.keeper.now(this.#kept());
  }

  async #start(more = {}) {
    await this.#busy(async () => {
      const run = await this.starting.post("/v1/jobs", this.draft, this.#sending({ more }));
      this.#isTouched = false;
      this.keeper.forget();
      await go(run.links.console);
    });
  }

  async #quote() {
    await this.#busy(async () => {
      this.#quoted = null;
      this.panel.busy();
      try {
        this.#quoted = await this.quoting.post(DRY_RUN, this.draft, this.#sending({ limit: PLANNED_WITHIN_MS }));
      } finally {
        this.panel.shows(this.#quoted);
      }
    });
  }

  #sending(options = {}) {
    return { signal: this.signal, keep: () => this.#isTouched && this.#keep(), ...options };
  }

  async #busy(work) {
    const buttons = [this.start, this.quote];
    for (const each of buttons) each.disabled = true;
    fill(this.wrong);
    this.fields.show([]);
    try {
      await work();
    } catch (error) {
      if (!this.signal.aborted) this.#refused(error);
    } finally {
      for (const each of buttons) each.disabled = false;
    }
  }

  /** What is wrong stands at its field; what has none stands below the buttons. */
  #refused(error) {
    const all = error.errors ?? [];
    const isOurs = ({ pointer }) => this.draft.plan.trim() || !pointer?.startsWith("/plan"); // Else it was made.
    const ours = all.filter(isOurs);
    const rest = this.fields.show(ours);
    const placed = ours.length - rest.length;
    const errors = [...rest, ...all.filter((each) => !isOurs(each))];
    const fields = placed === 1 ? "One field needs" : `${plural(placed, "field")} need`;
    const message = placed ? `Not started: ${fields} another look.` : error.message;
    const { code, requestId } = error;
    fill(this.wrong, failure(Object.assign(new Error(message), { code, requestId, errors })));
  }

  async #copy() {
    let text;
    try {
      text = curlOf(this.draft, location.origin);
    } catch (error) {
      this.#refused(error);
      return;
    }
    try {
      await navigator.clipboard.writeText(text);
      announce("Copied.");
    } catch {
      showText(text); // Where nothing may be copied by itself.
    }
  }
}

function showText(text) {
  const dialog = h("dialog", { "aria-label": "The job as a command" },
    h("form", { method: "dialog" }, h("pre", { tabindex: 0 }, text),
      h("div", { class: "actions" }, h("button", {}, "Close"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
