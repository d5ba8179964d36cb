/** Links to tasks by their titles, which come with the events and may change with them. */

import { h, say, set } from "../dom.js";
import { SIGNS } from "../format.js";
import { here } from "../router.js";

const NOTHING_ELSE = { attempt: null, call: null, tool: null, event: null };

export class TaskLinks {
  #store;
  #links = new Set();
  #seq = -1;

  constructor(store) {
    this.#store = store;
  }

  /** A link that selects a task on this page; its state is told by sign and colour. */
  to(id) {
    const sign = h("span", { "aria-hidden": "true" });
    const title = h("span", { class: "title" }, id);
    const link = h("a", { class: "task-link", href: here({ task: id, ...NOTHING_ELSE }), data: { task: id },
      on: { click: (event) => this.#follow(event, id) } }, sign, title);
    const shown = { id, link, sign, title };
    this.#links.add(shown);
    this.#name(shown);
    return link;
  }

  /** Links to several, parted by commas. */
  toAll(ids) {
    return ids.flatMap((id, at) => (at ? [", ", this.to(id)] : [this.to(id)]));
  }

  /** Forget all links: they are no longer shown. */
  clear() {
    this.#links.clear();
  }

  /** Bring titles and states up to date. */
  draw() {
    if (this.#seq === this.#store.fold.lastSeq) return;
    this.#seq = this.#store.fold.lastSeq;
    this.#links.forEach((shown) => this.#name(shown));
  }

  #name({ id, link, sign, title }) {
    const task = this.#store.fold.tasks.get(id);
    if (!task) return;
    say(title, task.plan.title || id);
    say(sign, SIGNS[task.status]);
    set(link, { data: { state: task.status }, title: `${id}, ${task.worker}: ${task.status}` });
  }

  #follow(event, id) {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.#store.select({ task: id, ...NOTHING_ELSE });
  }
}
