/** The form of a new job: what it says, what it would take, and its start. What is typed stays until it is started. */

import { announce, fill, h } from "../dom.js";
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
    this.curl = h("button", { type: "button", on: { click: () => this.#copy() } }, "Copy as curl");
    this.over = h("button", { type: "button", class: "plain", on: { click: () => this.#empty(empty) } }, "Empty the form");
    root.append(h("div", { class: "row" }, h("h1", {}, "New job"), kept && h("p", { class: "quiet small" }, "As you left it."), h("span", { class: "push" }), this.over),
      h("form", { class: "job", novalidate: true, on: { submit: (event) => { event.preventDefault(); this.#start(); } } },
        h("div", { class: "stack terms" }, this.#parts()),
        h("aside", { class: "stack", "aria-label": "Start" }, h("div", { class: "panel stack" },
          h("div", { class: "row" }, this.start, this.quote, this.curl), this.wrong), this.panel.element)));
    window.addEventListener("pagehide", () => this.#isTouched && this.#keep(), { signal });
    signal.addEventListener("abort", () => this.#isTouched && this.#keep());
  }

  #parts() {
    const { draft, fields, signal } = this;
    const changed = () => this.#changed();
    const objective = h("textarea", {
      rows: 6, required: true, value: draft.objective, placeholder: "What is to be achieved, in plain words",
      on: { input: () => { draft.objective = objective.value; changed(); } },
    });
    const limits = limitsPart(draft, fields, changed);
    const team = teamPart(draft, fields, { changed, chosen: (each) => limits.of(each), signal });
    return [
      h("div", { class: "panel stack" }, fields.field("/objective", "Objective", objective), team.element),
      inputsPart(draft, fields, changed).element, limits.element, peoplePart(draft, fields, changed), furtherPart(draft, fields, changed),
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
    await this.#busy(this.start, async () => {
      const run = await this.starting.post("/v1/jobs", this.draft, { more, signal: this.signal, keep: () => this.#keep() });
      this.#isTouched = false;
      this.keeper.forget();
      await go(run.links.console);
    });
  }

  async #quote() {
    await this.#busy(this.quote, async () => {
      this.panel.busy();
      this.#quoted = null;
      try {
        this.#quoted = await this.quoting.post("/v1/jobs?dry_run=true", this.draft, { signal: this.signal, keep: () => this.#keep() });
      } finally {
        this.panel.shows(this.#quoted);
      }
    });
  }

  async #busy(button, work) {
    for (const each of [this.start, this.quote]) each.disabled = true;
    button.setAttribute("aria-busy", "true");
    fill(this.wrong);
    this.fields.show([]);
    try {
      await work();
    } catch (error) {
      if (!this.signal.aborted) this.#refused(error);
    } finally {
      button.removeAttribute("aria-busy");
      for (const each of [this.start, this.quote]) each.disabled = false;
    }
  }

  /** What was wrong stands at its field; what has none stands below the buttons. */
  #refused(error) {
    const rest = this.fields.show(error.errors ?? []);
    const shown = Object.assign(new Error(error.message), { code: error.code, requestId: error.requestId, errors: rest });
    fill(this.wrong, failure(shown));
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
      this.#show(text);
    }
  }

  /** Where nothing may be copied by itself: the command, to be copied by hand. */
  #show(text) {
    const dialog = h("dialog", { "aria-label": "The job as a command" },
      h("form", { method: "dialog" }, h("pre", { tabindex: 0 }, text), h("div", { class: "actions" }, h("button", {}, "Close"))));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  #empty(empty) {
    this.#isTouched = false;
    this.keeper.forget();
    empty();
  }
}
