/** The first page: what this is, three jobs to begin with, and what has been going on. */

import { fill, h } from "../dom.js";
import { every } from "../frames.js";
import { failure, go } from "../router.js";
import { EXAMPLES } from "../job/examples.js";
import { emptyDraft } from "../job/draft.js";
import { Intention } from "../job/start.js";
import { look } from "../list/live.js";
import { ParkedList } from "../list/parked.js";
import { runsTable } from "../list/table.js";

const WHAT_THIS_IS =
  "You say what is to be achieved. A supervisor plans it as a graph of tasks, workers do them side by side, and the " +
  "answer says what it rests on and what is missing. Everything that happens can be watched here.";
const NEWEST = 8;
const LOOKED_AT = 24;
const SECOND_MS = 1000;

export function open({ root, signal }) {
  const list = new ParkedList();
  const table = runsTable("The newest runs");
  const notice = h("div", { class: "place" });
  const below = h("div");
  root.append(
    h("header", { class: "stack welcome" }, h("h1", {}, "A crew for every job"), h("p", {}, WHAT_THIS_IS)),
    h("section", { class: "stack", "aria-labelledby": "examples" },
      h("h2", { id: "examples" }, "Three jobs to begin with"),
      h("ul", { class: "examples plain-list" }, EXAMPLES.map((example) => card(example, signal))),
      h("p", {}, "Or ", h("a", { href: "/console/new" }, "write a job of your own"), ".")),
    h("section", { class: "stack", "aria-labelledby": "newest" },
      h("div", { class: "row" }, h("h2", { id: "newest" }, "The newest runs"),
        h("a", { class: "push", href: "/console/runs" }, "All runs")),
      notice, h("div", { class: "panel list" }, table.element, below)));
  every(SECOND_MS, () => table.tick(), signal);
  look(`/v1/runs?limit=${LOOKED_AT}&include=levels`, {
    signal,
    onPage: (page) => {
      const seenAt = performance.now();
      fill(notice);
      const own = page.data.filter((run) => !run.parent && !run.limits.dry_run).slice(0, NEWEST);
      list.take(own.map((run) => ({ ...run, seenAt })), table.element.matches(":hover, :focus-within"));
      table.show(list.shown, list.left);
      table.element.hidden = !list.shown.length;
      fill(below, list.shown.length ? null : h("p", { class: "empty" }, "Runs stand here as soon as there are some."));
    },
    onTrouble: (error) => fill(notice, failure(error)),
  });
  return { title: "" };
}

function card({ name, title, shows, job }, signal) {
  const wrong = h("div");
  const starting = new Intention();
  const start = h("button", { class: "main", "aria-label": `Start: ${title}`, on: { click: run } }, "Start");
  const form = h("a", {
    class: "button", href: `/console/new?example=${name}`, "aria-label": `Open in the form: ${title}`,
  }, "Open in the form");
  return h("li", { class: "panel stack", data: { example: name } },
    h("h3", {}, title), h("p", {}, shows),
    h("p", { class: "quiet small" }, "Team ", h("a", { href: `/console/teams/${job.team}` }, job.team)),
    wrong, h("div", { class: "actions" }, start, form));

  async function run() {
    start.disabled = true;
    fill(wrong);
    try {
      const { links } = await starting.post("/v1/jobs", { ...emptyDraft(), ...job }, { signal });
      await go(links.console);
    } catch (error) {
      if (!signal.aborted) fill(wrong, failure(error));
      start.disabled = false;
    }
  }
}
