/** What a job would take, and the plan that it would follow: the answer to a dry run. */

import { fill, h } from "../dom.js";
import { plural } from "../format.js";
import { quoteOf } from "../quote.js";

const NAMED_AT_MOST = 4;

/** The panel; `shows(dryRun)` fills it, with null as before the first one. */
export function quotePanel({ startWithPlan }) {
  const element = h("section", { class: "panel stack quoted", "aria-label": "Quote", "aria-live": "polite" });
  const withPlan = h("button", { type: "button", on: { click: startWithPlan } }, "Start with this plan");
  const old = h("p", { class: "notice small" }, "The job has changed since: this is the quote of what it was.");
  const says = (...children) => fill(element, h("h2", {}, "Quote"), ...children);
  shows(null);
  return { element, shows, busy, age };

  function busy() {
    says(h("p", { class: "quiet" }, "The job is being planned; nothing of it is carried out …"));
  }

  /** Say whether the form is still what was quoted. */
  function age(isOld) {
    old.hidden = !isOld;
    withPlan.disabled = isOld;
  }

  function shows(answer) {
    if (!answer) {
      says(h("p", { class: "quiet" }, "What would it take? It is planned for that, and nothing is carried out."));
    } else if (!answer.plan) {
      const run = h("a", { href: answer.links.console }, "Its run");
      says(h("p", {}, "Planning takes longer. ", run, " will have the plan and the quote."));
    } else {
      const { plan, quote, run_id: run } = answer;
      const made = h("a", { href: `/console/runs/${run}`, class: "small" }, "How it was planned");
      age(false);
      says(old, quoteOf(quote),
        h("h3", {}, shapeOf(plan)), tasks(plan), flaws(plan),
        h("div", { class: "row" }, withPlan, made));
    }
  }
}

function shapeOf({ tasks: all, shape }) {
  if (!shape || all.length < 2) return plural(all.length, "task");
  return `${plural(all.length, "task")}, up to ${shape.width} side by side, ${shape.depth} in a row`;
}

function tasks(plan) {
  const depths = depthsOf(plan.tasks);
  return h("ol", { class: "plan plain-list", tabindex: 0, role: "list", "aria-label": "Tasks of the plan" },
    plan.tasks.map((task) => h("li", { style: { "--depth": depths.get(task.id) } },
      h("span", { class: "mono quiet" }, task.id), " ", h("strong", {}, task.title || task.id), " ",
      h("span", { class: "chip" }, task.worker), h("span", { class: "quiet small" }, waitsFor(task.depends_on)))));
}

function waitsFor(ids) {
  if (!ids.length) return "";
  return ` after ${ids.length > NAMED_AT_MOST ? plural(ids.length, "task") : ids.join(", ")}`;
}

/** How many tasks stand before each, at least, on the way from the start. */
function depthsOf(all) {
  const known = new Map(all.map((task) => [task.id, task]));
  const depths = new Map();
  const depth = (id) => {
    if (!depths.has(id)) {
      depths.set(id, 0);
      const before = (known.get(id)?.depends_on ?? []).map(depth);
      depths.set(id, before.length ? Math.max(...before) + 1 : 0);
    }
    return depths.get(id);
  };
  for (const { id } of all) depth(id);
  return depths;
}

function flaws({ validation }) {
  const found = [...validation.errors, ...validation.warnings];
  if (!found.length) return null;
  const items = found.map(({ detail }) => h("li", {}, detail));
  return h("div", {}, h("h3", {}, "What is odd about it"), h("ul", { class: "oddities small" }, items));
}
