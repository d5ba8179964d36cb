/** Reports of usage as charts and tables: bars by day, and for each kind of group its bars beside its figures. */

import { barChart } from "../charts.js";
import { h } from "../dom.js";
import { count, money } from "../format.js";
import { tableOf } from "../tables.js";
import { FIGURES, sumOf } from "./usage_measures.js";

const DAY_MS = 86_400_000;
const GROUPS = [["team", "By team", "Team"], ["model", "By model", "Model"], ["key", "By key", "Key"]];
const RECKONED = "A part of it is reckoned: of some calls the provider never reported the end.";
const BY_MODEL = "Each call counts with its own model; a run counts with each model that it has called.";
const LONG_DAY = { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
const SHORT_DAY = { day: "numeric", month: "short", timeZone: "UTC" };

/** All that is shown of a period; `reports` has one for each way to add up. */
export function reportsOf(reports, measure) {
  const { total } = reports.day;
  const figures = totals(total).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  const sums = h("section", { class: "panel" },
    h("dl", { class: "totals" }, figures),
    total.usage.estimated && h("p", { class: "quiet small" }, RECKONED));
  if (!total.runs) return [sums, nothing()];
  return [sums, byDay(reports.day, measure), GROUPS.map(([by, ...words]) => byGroup(reports[by], by, words, measure))];
}

function nothing() {
  return h("section", { class: "panel empty" },
    h("p", {}, "No run was posted in this period."),
    h("p", {}, h("a", { href: "/console/new" }, "Post a job"), ", and what it takes is counted here."));
}

function totals({ runs, usage }) {
  return [
    ["Runs", count(runs)], ["Cost", money(usage.cost_usd)],
    ["Model calls", count(usage.llm_calls)], ["Tool calls", count(usage.tool_calls)],
    ["Tokens read", count(usage.input_tokens)], ["of these from the cache", count(usage.cache_read_tokens)],
    ["Tokens written", count(usage.output_tokens)],
  ];
}

function byDay(report, measure) {
  const label = `${measure.name} by day`;
  const figures = (group) => FIGURES.map(([, value]) => value(group));
  const columns = ["Day", ...FIGURES.map(([name]) => ({ name, number: true }))];
  const rows = report.data.map((group) => [group.name, ...figures(group)]);
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, label), h("span", { class: "quiet small" }, "Days of UTC")),
    barChart({ label, bars: barsOf(report, measure), ...measure }),
    h("details", {}, h("summary", {}, "As a table"),
      tableOf("Usage by day", columns, rows, { foot: ["All", ...figures(report.total)] })));
}

/** A bar for each day of the period, those on which nothing was taken among them. */
function barsOf({ data, since, until }, { series, parts }) {
  const found = new Map(data.map((group) => [group.name, parts(group)]));
  const bars = [];
  for (let at = Math.floor(Date.parse(since) / DAY_MS) * DAY_MS; at < Date.parse(until); at += DAY_MS) {
    const day = new Date(at);
    bars.push({
      name: day.toLocaleDateString([], LONG_DAY), label: day.toLocaleDateString([], SHORT_DAY),
      parts: found.get(day.toISOString().slice(0, 10)) ?? series.map(() => 0),
    });
  }
  return bars;
}

/** Bars and figures in one table, the most first. */
function byGroup({ data }, by, [title, column], measure) {
  const sorted = data.map((group) => ({ group, sum: sumOf(group, measure) })).sort((one, other) => other.sum - one.sum);
  const most = sorted[0]?.sum || 1;
  const columns = [column, measure.name, ...FIGURES.map(([name]) => ({ name, number: true }))];
  const rows = sorted.map(({ group, sum }) => (
    [nameOf(group.name, by), barOf(group, { sum, most }, measure), ...FIGURES.map(([, value]) => value(group))]));
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, title)),
    tableOf(`Usage ${title.toLowerCase()}`, columns, rows, { props: { class: "bars" } }),
    by === "model" && h("p", { class: "quiet small" }, BY_MODEL));
}

function barOf(group, { sum, most }, { parts, series, format }) {
  const pieces = parts(group).map((part, at) => part > 0 && h("span", {
    data: { kind: series[at].kind }, title: `${series[at].name}: ${format(part)}`,
    style: { width: `${(100 * part) / most}%` },
  }));
  return h("div", { class: "bar-cell" },
    h("div", { class: "bar-track", "aria-hidden": "true" }, pieces), h("span", { class: "numbers" }, format(sum)));
}

function nameOf(name, by) {
  if (name === null) return h("span", { class: "quiet" }, by === "key" ? "without a key" : "unknown");
  if (by === "team") return h("a", { href: `/console/teams/${encodeURIComponent(name)}` }, name);
  return h("span", { title: name }, name);
}
