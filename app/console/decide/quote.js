/** What a plan is to take, as a small table. */

import { h } from "../dom.js";
import { count, duration, money, plural } from "../format.js";

const RANGE = ["least", "likely", "most"];

/** The quote of a plan; a sentence where there is none. */
export function quoteOf(quote) {
  if (!quote) return h("p", { class: "quiet" }, "What this plan is to take is not known.");
  const { cost_usd: cost, tokens, duration_s: seconds, basis, runs_considered: runs } = quote;
  const row = (name, range, written) => h("tr", {}, h("th", { scope: "row" }, name),
    RANGE.map((which) => h("td", { class: "number" }, range ? written(range[which]) : "–")));
  const rests = basis === "history"
    ? `Likely: as in ${plural(runs, "run")} of this team.`
    : "Likely: by limits and typical lengths, for want of such runs.";
  const lasting = (each) => duration(each * 1000);
  const rows = [row("Cost", cost, money), row("Tokens", tokens, count), row("Time", seconds, lasting)];
  return h("div", { class: "quote" },
    h("table", {}, h("caption", {}, "What it is to take, planning included"),
      h("thead", {}, h("tr", {}, h("td"), RANGE.map((which) => h("th", { scope: "col", class: "number" }, which)))),
      h("tbody", {}, rows)),
    h("p", { class: "quiet small" }, rests));
}
