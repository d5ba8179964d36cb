/** All runs: a table that is live, by filters that live in the address. */

import { fill, h, say } from "../dom.js";
import { count, hasEnded, plural } from "../format.js";
import { every } from "../frames.js";
import { failure } from "../router.js";
import { cancelTogether, notTogether } from "../list/cancel.js";
import { filterForm } from "../list/filters.js";
import { look } from "../list/live.js";
import { ParkedList } from "../list/parked.js";
import { filtersIn, pathOf, withoutFilters } from "../list/query.js";
import { runsTable } from "../list/table.js";

const SECOND_MS = 1000;

export function open({ root, query, signal, select }) {
  const page = new RunsPage(root, signal, select);
  page.follow(query);
  return { title: "Runs", follow: (next) => page.follow(next) };
}

class RunsPage {
  #query;
  #path = null;
  #list = new ParkedList();
  #next = null;
  #looking = null;
  #ended = null;

  constructor(root, signal, select) {
    Object.assign(this, { signal, select });
    const button = (text, click, props = {}) => h("button", { ...props, on: { click } }, text);
    this.filters = filterForm({ change: (changes) => select(changes), signal });
    this.table = runsTable("Runs, each with its state, objective, team, tasks, cost and times");
    this.state = h("p", { class: "quiet small push", data: { name: "liveness" } }, "Looking …");
    this.notice = h("div", { class: "place" });
    this.wrong = h("div", { class: "place" });
    this.empty = h("div");
    this.news = button("", () => this.#release(), { class: "news", hidden: true });
    this.cancel = button("Cancel these …", () => this.#cancel(), { class: "danger" });
    this.first = button("First page", () => this.#page(null));
    this.older = button("Next page", () => this.#page(this.#next));
    this.region = h("section", { class: "panel list", "aria-label": "Runs" }, this.table.element, this.empty);
    root.append(
      h("div", { class: "row" }, h("h1", { tabindex: -1 }, "Runs"), this.state, this.cancel,
        h("a", { class: "button main", href: "/console/new" }, "New job")),
      this.filters.element, this.wrong, this.notice,
      h("div", { class: "over", role: "status" }, this.news), this.region,
      h("nav", { class: "row pager", "aria-label": "Pages" }, this.first, this.older));
    every(SECOND_MS, () => this.table.tick(), signal);
  }

  /** The address says that another list is wanted. */
  follow(query) {
    this.#query = query;
    this.filters.shows(query);
    const why = notTogether(query);
    this.cancel.disabled = Boolean(why);
    this.cancel.title = why ?? "";
    const path = pathOf(query);
    if (path === this.#path) return;
    this.#path = path;
    this.#list = new ParkedList();
    this.region.setAttribute("aria-busy", "true");
    this.#ended?.abort();
    this.#ended = new AbortController();
    const signal = AbortSignal.any([this.signal, this.#ended.signal]);
    this.#looking = look(path, {
      signal, onPage: (page) => this.#take(page), onTrouble: (error, retryAt) => this.#trouble(error, retryAt),
    });
  }

  #take(page) {
    const seenAt = performance.now();
    const runs = page.data.map((run) => ({ ...run, seenAt }));
    this.#next = page.next_cursor;
    this.#list.take(runs, this.#isRead());
    fill(this.notice);
    this.region.removeAttribute("aria-busy");
    const busy = runs.filter((run) => !hasEnded(run)).length;
    say(this.state, busy ? `◉ Live · ${plural(busy, "run")} of this page under way` : "◉ Live");
    this.#draw();
  }

  #draw() {
    const { shown, left, waiting, isCurrent } = this.#list;
    this.table.show(shown, left);
    this.table.element.hidden = !shown.length;
    fill(this.empty, shown.length ? null : this.#nothing());
    this.news.hidden = isCurrent;
    say(this.news, waiting ? `Show ${plural(waiting, "new run")}` : "Show the list as it is now");
    this.first.hidden = !this.#query.get("after");
    this.older.hidden = !this.#next;
  }

  #nothing() {
    if (this.#query.get("after")) return h("p", { class: "empty" }, "There are no more runs.");
    if (!filtersIn(this.#query).length) {
      const start = h("a", { href: "/console/new" }, "Start one");
      return h("p", { class: "empty" }, "Runs stand here as soon as there are some. ", start, ".");
    }
    const out = h("button", { on: { click: () => this.select(withoutFilters()) } }, "Take them out");
    return h("p", { class: "empty" }, "No run fits these filters. ", out);
  }

  #page(after) {
    this.select({ after });
    this.#toTop();
  }

  #release() {
    this.#list.release();
    this.#draw();
    this.#toTop();
  }

  /** Somebody reads the table who points at it, has the focus in it, or has scrolled down to see its rows. */
  #isRead() {
    const table = this.table.element;
    return table.matches(":hover, :focus-within") || table.getBoundingClientRect().top < 0;
  }

  async #cancel() {
    try {
      await cancelTogether(this.#query);
    } catch (error) {
      fill(this.wrong, failure(error));
      return;
    }
    fill(this.wrong);
    this.#looking.now();
  }

  #toTop() {
    scrollTo({ top: 0 });
    this.region.closest(".page").querySelector("h1").focus();
  }

  #trouble(error, retryAt) {
    this.region.removeAttribute("aria-busy");
    if (retryAt === null) {
      say(this.state, "");
      fill(this.notice, failure(error, () => this.#looking.now()));
      return;
    }
    const seconds = Math.round((retryAt - Date.now()) / SECOND_MS);
    say(this.state, "○ Not live");
    fill(this.notice, h("div", { class: "notice", role: "alert" },
      h("p", {}, `${error.message} What is shown is from before; the next look is in ${count(seconds)} s. `,
        h("button", { on: { click: () => this.#looking.now() } }, "Look now"))));
  }
}
