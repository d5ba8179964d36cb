/** What a plan is to take, as a small table. */

import { h } from "./dom.js";
import { count, duration, money, plural } from "./format.js";

const FIGURES = [
  ["Cost", "cost_usd", money],
  ["Tokens", "tokens", count],
  ["Time", "duration_s", (seconds) => duration(seconds === null ? null : seconds * 1000)],
];
const BOUNDS = ["least", "likely", "most"];

/** The figures of a quote and what they rest on; a sentence where there is none. */
export function quoteOf(quote) {
  if (!quote) return h("p", { class: "quiet" }, "There is no quote for this plan.");
  return h("div", { class: "quote" }, figures(quote), basis(quote));
}

function figures(quote) {
  const figure = (of, shown, each) => (of ? shown(of[each]) : "no known price");
  const row = ([text, name, shown]) => h("tr", {}, h("th", { scope: "row" }, text),
    BOUNDS.map((each) => h("td", { class: `number ${each}` }, figure(quote[name], shown, each))));
  return h("table", { "aria-label": "What it is to take, planning included" },
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
