/** What a job would take, and the plan that it would follow: the answer to a dry run. */

import { fill, h, set } from "../dom.js";
import { count, duration, money, plural } from "../format.js";

const FIGURES = [
  ["Cost", "cost_usd", money], ["Tokens", "tokens", count], ["Time", "duration_s", (seconds) => duration(seconds === null ? null : seconds * 1000)],
];

/** The panel; `shows(dryRun, isOld)` fills it, with null as before the first one. */
export function quotePanel({ startWithPlan }) {
  const element = h("section", { class: "panel stack quote", "aria-label": "Quote", "aria-live": "polite" });
  const withPlan = h("button", { type: "button", on: { click: () => startWithPlan() } }, "Start with this plan");
  const old = h("p", { class: "notice small" }, "The job has changed since: ask again, as this is the quote of what it was.");
  shows(null);
  return { element, shows, busy, age };

  function busy() {
    fill(element, h("h2", {}, "Quote"), h("p", { class: "quiet" }, "The job is being planned; nothing of it is carried out …"));
  }

  /** Say whether the form is still what was quoted. */
  function age(isOld) {
    old.hidden = !isOld;
    withPlan.disabled = isOld;
  }

  function shows(answer) {
    if (!answer) {
      fill(element, h("h2", {}, "Quote"),
        h("p", { class: "quiet" }, "Ask what the job would take before it starts: it is planned, and nothing is carried out."));
      return;
    }
    if (!answer.plan) {
      fill(element, h("h2", {}, "Quote"), h("p", {}, "Planning takes longer. ", h("a", { href: answer.links.console }, "Its run"), " will have the plan and the quote."));
      return;
    }
    const { plan, quote, run_id: run } = answer;
    age(false);
    fill(element, h("h2", {}, "Quote"), old, quote ? figures(quote) : h("p", {}, "There is no quote for this plan."), quote && basis(quote),
      h("h3", {}, shapeOf(plan)), tasks(plan), flaws(plan), h("div", { class: "row" }, withPlan, h("a", { href: `/console/runs/${run}`, class: "small" }, "How it was planned")));
  }
}

function figures(quote) {
  return h("table", { class: "figures" },
    h("thead", {}, h("tr", {}, h("td", {}), ["least", "likely", "most"].map((each) => h("th", { scope: "col", class: "number" }, each)))),
    h("tbody", {}, FIGURES.map(([text, name, shown]) => h("tr", {}, h("th", { scope: "row" }, text),
      ["least", "likely", "most"].map((each) => h("td", { class: each === "likely" ? "number likely" : "number" }, quote[name] ? shown(quote[name][each]) : "no known price"))))));
}

function basis({ basis: rests, runs_considered: runs, planning }) {
  const on = rests === "history" ? `“Likely” rests on ${plural(runs, "earlier run")} of the team.` : "“Likely” rests on what is typical: the team has too few runs to go by.";
  const made = planning && Number(planning.cost_usd) > 0 ? ` Planning has cost ${money(planning.cost_usd)}.` : "";
  return h("p", { class: "quiet small" }, on, made);
}

function shapeOf({ tasks: all, shape }) {
  if (!shape || all.length < 2) return plural(all.length, "task");
  return `${plural(all.length, "task")}, up to ${shape.width} side by side, ${shape.depth} in a row`;
}

function tasks(plan) {
  const depths = depthsOf(plan.tasks);
  return h("ol", { class: "plan plain-list", tabindex: 0, role: "list", "aria-label": "Tasks of the plan" }, plan.tasks.map((task) => set(
    h("li", {}, h("span", { class: "mono quiet" }, task.id), " ", h("strong", {}, task.title || task.id), " ", h("span", { class: "chip" }, task.worker),
      task.depends_on.length > 0 && h("span", { class: "quiet small" }, ` after ${task.depends_on.length > 4 ? plural(task.depends_on.length, "task") : task.depends_on.join(", ")}`)),
    { style: { "--depth": depths.get(task.id) } })));
}

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
  return h("div", {}, h("h3", {}, "What is odd about it"), h("ul", { class: "flaws small" }, found.map(({ detail }) => h("li", {}, detail))));
}
