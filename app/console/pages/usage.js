/** What runs have taken, by day, team, model and key: `?days=30`, or `?from=2026-11-01&to=2026-11-30`, and `measure=tokens`. */

import { get, withQuery } from "../api.js";
import { barChart } from "../charts.js";
import { fill, h, set } from "../dom.js";
import { count, money } from "../format.js";
import { failure, here } from "../router.js";

const DAY_MS = 86_400_000;
const SPANS = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "A year"]];
const GROUPS = [["team", "By team"], ["model", "By model"], ["key", "By key"]];

/** What is measured: its words, the parts of it in a group, how a number of it is written. */
const MEASURES = {
  cost: { name: "Cost", series: [["cost", "running"]], parts: ({ usage }) => [Number(usage.cost_usd)], format: money, tick: dollars },
  tokens: {
    name: "Tokens", series: [["read anew", "running"], ["read from the cache", "tool"], ["written", "llm"]], format: count, tick: short, whole: true,
    parts: ({ usage }) => [usage.input_tokens - usage.cache_read_tokens, usage.cache_read_tokens, usage.output_tokens],
  },
  calls: { name: "Calls", series: [["of models", "llm"], ["of tools", "tool"]], parts: ({ usage }) => [usage.llm_calls, usage.tool_calls], format: count, tick: short, whole: true },
  runs: { name: "Runs", series: [["runs", "running"]], parts: ({ runs }) => [runs], format: count, tick: short, whole: true },
};

export async function open({ root, query, signal, select }) {
  const shown = h("div", { class: "stack usage", "aria-live": "off" });
  const controls = h("div", { class: "row usage-controls" });
  root.append(h("header", { class: "row" }, h("h1", {}, "Usage"), controls), shown);
  let reports = null;
  let asked = null;

  async function look(query) {
    fill(controls, spans(query), dates(query, select), measures(query));
    const period = periodOf(query);
    const wanted = JSON.stringify(period);
    if (asked !== wanted) {
      asked = wanted;
      reports = null;
      set(shown, { "aria-busy": "true" });
      const found = await Promise.all(["day", ...GROUPS.map(([name]) => name)].map((by) => get(withQuery("/v1/usage", { ...period, group_by: by }), { signal })));
      if (asked !== wanted) return;
      reports = found;
    }
    if (reports) draw(shown, reports, measureOf(query));
  }
  const lookOrSay = (query) => look(query).catch((error) => {
    if (signal.aborted) return;
    asked = null;
    fill(set(shown, { "aria-busy": null }), failure(error, () => lookOrSay(query)));
  });
  await lookOrSay(query);
  return { title: "Usage", follow: lookOrSay };
}

/** The period that an address means, as the API takes it; days are whole ones of UTC, the last one included. */
export function periodOf(query, now = Date.now()) {
  const from = query.get("from");
  const to = query.get("to");
  if (from || to) return { from: from && `${from}T00:00:00Z`, to: to && new Date(Date.parse(`${to}T00:00:00Z`) + DAY_MS).toISOString() };
  const days = Number(query.get("days")) || 30;
  return { from: new Date(Math.floor(now / DAY_MS) * DAY_MS - (days - 1) * DAY_MS).toISOString() };
}

function measureOf(query) {
  return MEASURES[query.get("measure")] ?? MEASURES.cost;
}

function spans(query) {
  const chosen = query.get("from") || query.get("to") ? null : query.get("days") ?? "30";
  return h("nav", { class: "choices", "aria-label": "Period" }, SPANS.map(([days, words]) => (
    h("a", { href: here({ days, from: null, to: null }), "aria-current": days === chosen ? "true" : null }, words))));
}

function dates(query, select) {
  const field = (name, words) => h("label", { class: "date" }, h("span", { class: "quiet small" }, words), h("input", {
    type: "date", name, value: query.get(name) ?? "", on: { change: ({ target }) => select({ [name]: target.value, days: null }) },
  }));
  return h("div", { class: "row" }, field("from", "From"), field("to", "to"));
}

function measures(query) {
  const chosen = measureOf(query);
  return h("nav", { class: "choices", "aria-label": "Measure" }, Object.entries(MEASURES).map(([name, measure]) => (
    h("a", { href: here({ measure: name }), "aria-current": measure === chosen ? "true" : null }, measure.name))));
}

function draw(shown, [days, ...groups], measure) {
  const { total } = days;
  fill(set(shown, { "aria-busy": null }),
    h("section", { class: "panel" }, h("dl", { class: "figures" }, totals(total)),
      total.usage.estimated && h("p", { class: "quiet small" }, "A part of it is reckoned: of some calls the provider never reported the end.")),
    total.runs ? h("section", { class: "panel" }, h("header", {}, h("h2", {}, `${measure.name} by day`), h("span", { class: "quiet small" }, "Days of UTC")),
      chartOf(days, measure), h("details", {}, h("summary", {}, "As a table"), h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Usage by day" }, tableOf(days, "Day"))))
      : h("section", { class: "panel empty" }, h("p", {}, "No run was posted in this period."), h("p", {}, h("a", { href: "/console/new" }, "Post a job"), ", and what it takes is counted here.")),
    total.runs > 0 && GROUPS.map(([by, words], at) => groupOf(groups[at], { by, words, measure })));
}

function totals({ runs, usage }) {
  return [
    ["Runs", count(runs)], ["Cost", money(usage.cost_usd)], ["Model calls", count(usage.llm_calls)], ["Tool calls", count(usage.tool_calls)],
    ["Tokens read", count(usage.input_tokens)], ["of these from the cache", count(usage.cache_read_tokens)], ["Tokens written", count(usage.output_tokens)],
  ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}

function chartOf({ data, since, until }, measure) {
  const found = new Map(data.map((group) => [group.name, group]));
  const nothing = measure.series.map(() => 0);
  const bars = daysBetween(since, until).map((day) => ({
    name: new Date(day).toLocaleDateString([], { weekday: "short", day: "numeric", month: "short", year: "numeric", timeZone: "UTC" }),
    label: new Date(day).toLocaleDateString([], { day: "numeric", month: "short", timeZone: "UTC" }),
    parts: found.has(day) ? measure.parts(found.get(day)) : nothing,
  }));
  const series = measure.series.map(([name, kind]) => ({ name, kind }));
  return barChart({ label: `${measure.name} by day`, series, bars, format: measure.format, tick: measure.tick, whole: measure.whole });
}

function daysBetween(since, until) {
  const days = [];
  for (let at = Math.floor(Date.parse(since) / DAY_MS) * DAY_MS; at < Date.parse(until); at += DAY_MS) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

/** Bars and figures in one table, the most first. */
function groupOf({ data }, { by, words, measure }) {
  const sum = (group) => measure.parts(group).reduce((all, part) => all + part, 0);
  const rows = [...data].sort((one, other) => sum(other) - sum(one));
  const most = Math.max(...rows.map(sum), 0);
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, words)),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": `Usage ${words.toLowerCase()}` },
      h("table", { class: "bars" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, by[0].toUpperCase() + by.slice(1)), h("th", { scope: "col" }, measure.name), COLUMNS.map(([name]) => h("th", { scope: "col", class: "number" }, name)))),
        h("tbody", {}, rows.map((group) => h("tr", {},
          h("th", { scope: "row" }, nameOf(group.name, by)),
          h("td", {}, h("div", { class: "bar-cell" }, barOf(group, most, measure), h("span", { class: "numbers" }, measure.format(sum(group))))),
          COLUMNS.map(([, value]) => h("td", { class: "number" }, value(group)))))))),
    by === "model" && h("p", { class: "quiet small" }, "Each call counts with its own model; a run counts with each model that it has called."));
}

function barOf(group, most, { parts, series, format }) {
  return h("div", { class: "bar-track", "aria-hidden": "true" }, parts(group).map((part, at) => part > 0 && h("span", {
    data: { kind: series[at][1] }, title: `${series[at][0]}: ${format(part)}`, style: { width: `${(100 * part) / (most || 1)}%` },
  })));
}

function nameOf(name, by) {
  if (name === null) return h("span", { class: "quiet" }, by === "key" ? "without a key" : "unknown");
  return by === "team" ? h("a", { href: `/console/teams/${encodeURIComponent(name)}` }, name) : h("span", { title: name }, name);
}

const COLUMNS = [
  ["Runs", ({ runs }) => count(runs)], ["Model calls", ({ usage }) => count(usage.llm_calls)], ["Tool calls", ({ usage }) => count(usage.tool_calls)],
  ["Read", ({ usage }) => count(usage.input_tokens)], ["Written", ({ usage }) => count(usage.output_tokens)], ["Cost", ({ usage }) => money(usage.cost_usd)],
];

function tableOf({ data, total }, name) {
  const row = (words, group, tag = "th") => h("tr", {}, h(tag, { scope: "row" }, words), COLUMNS.map(([, value]) => h("td", { class: "number" }, value(group))));
  return h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, name), COLUMNS.map(([column]) => h("th", { scope: "col", class: "number" }, column)))),
    h("tbody", {}, data.map((group) => row(group.name, group))),
    h("tfoot", {}, row("All", total)));
}

function dollars(value) {
  return value === 0 ? "$0" : `$${value >= 1 || Number.isInteger(value * 100) ? value.toLocaleString("en-US", { minimumFractionDigits: Number.isInteger(value) ? 0 : 2 }) : Number(value.toPrecision(3))}`;
}

function short(value) {
  return value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });
}
