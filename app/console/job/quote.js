/** What a job would take, and the plan that it would follow: the answer to a dry run. */

import { fill, h } from "../dom.js";
import { count, duration, money, plural } from "../format.js";

const FIGURES = [
  ["Cost", "cost_usd", money],
  ["Tokens", "tokens", count],
  ["Time", "duration_s", (seconds) => duration(seconds === null ? null : seconds * 1000)],
];
const BOUNDS = ["least", "likely", "most"];
const NAMED_AT_MOST = 4;

/** The panel; `shows(dryRun)` fills it, with null as before the first one. */
export function quotePanel({ startWithPlan }) {
  const element = h("section", { class: "panel stack quote", "aria-label": "Quote", "aria-live": "polite" });
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
      says(old, quote ? [figures(quote), basis(quote)] : h("p", {}, "There is no quote for this plan."),
        h("h3", {}, shapeOf(plan)), tasks(plan), flaws(plan),
        h("div", { class: "row" }, withPlan, made));
    }
  }
}

function figures(quote) {
  const figure = (of, shown, each) => (of ? shown(of[each]) : "no known price");
  const row = ([text, name, shown]) => h("tr", {}, h("th", { scope: "row" }, text),
    BOUNDS.map((each) => h("td", { class: `number ${each}` }, figure(quote[name], shown, each))));
  return h("table", { class: "figures" },
    h("thead", {}, h("tr", {}, h("td", {}), BOUNDS.map((each) => h("th", { scope: "col", class: "number" }, each)))),
    h("tbody", {}, FIGURES.map(row)));
}

function basis({ basis: rests, runs_considered: runs, planning }) {
  const on = rests === "history"
    ? `“Likely” rests on ${plural(runs, "earlier run")} of the team.`
    : "“Likely” rests on what is typical: the team has too few runs to go by.";
  const made = planning && Number(planning.cost_usd) > 0 ? ` Planning has cost ${money(planning.cost_usd)}.` : "";
  return h("p", { class: "quiet small" }, on, made);
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
  return h("div", {}, h("h3", {}, "What is odd about it"), h("ul", { class: "flaws small" }, items));
}
