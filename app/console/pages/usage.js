/** What runs have taken: `?days=30`, or `?from=2026-11-01&to=2026-11-30`, and `measure=cost|tokens|calls|runs`. */

import { get, withQuery } from "../api.js";
import { fill, h, set } from "../dom.js";
import { failure, here } from "../router.js";
import { reportsOf } from "./usage_charts.js";
import { MEASURES } from "./usage_measures.js";

const DAY_MS = 86_400_000;
const DAYS_UNLESS_SAID = 30;
const SPANS = [["7", "7 days"], ["30", "30 days"], ["90", "90 days"], ["365", "A year"]];
const GROUPS = ["day", "team", "model", "key"];

export async function open({ root, query, signal, select }) {
  const shown = h("div", { class: "stack usage" });
  const controls = h("div", { class: "row usage-controls" });
  root.append(h("header", { class: "row" }, h("h1", {}, "Usage"), controls), shown);
  let reports = null;
  let asked = null;
  await look(query);
  return { title: "Usage", follow: look };

  async function look(query) {
    fill(controls, spans(query), dates(query, select), measures(query));
    const period = periodOf(query);
    try {
      if (asked !== JSON.stringify(period)) await read(period);
      if (reports) fill(shown, reportsOf(reports, measureOf(query)));
    } catch (error) {
      if (signal.aborted) return;
      asked = null;
      fill(shown, failure(error, () => look(query)));
    }
    set(shown, { "aria-busy": null });
  }

  /** Read the period; what comes after it was changed again is left aside. */
  async function read(period) {
    const wanted = JSON.stringify(period);
    asked = wanted;
    reports = null;
    set(shown, { "aria-busy": "true" });
    const paths = GROUPS.map((by) => withQuery("/v1/usage", { ...period, group_by: by }));
    const found = await Promise.all(paths.map((path) => get(path, { signal })));
    if (asked === wanted) reports = Object.fromEntries(GROUPS.map((by, at) => [by, found[at]]));
  }
}

/** The period that an address means, as the API takes it; days are whole ones of UTC, the last one included. */
export function periodOf(query, now = Date.now()) {
  const [from, to] = [query.get("from"), query.get("to")].map((day) => (day ? Date.parse(`${day}T00:00:00Z`) : null));
  if (from !== null || to !== null) return { from: instant(from), to: instant(to === null ? null : to + DAY_MS) };
  const days = Number(query.get("days")) || DAYS_UNLESS_SAID;
  return { from: instant(Math.floor(now / DAY_MS) * DAY_MS - (days - 1) * DAY_MS), to: null };
}

function instant(at) {
  return at === null || Number.isNaN(at) ? null : new Date(at).toISOString();
}

function measureOf(query) {
  const asked = query.get("measure");
  return Object.hasOwn(MEASURES, asked) ? MEASURES[asked] : MEASURES.cost;
}

/** Links of which one is current. */
function choices(label, links) {
  return h("nav", { class: "switch", "aria-label": label },
    links.map(([href, words, current]) => h("a", { href, "aria-current": current ? "true" : null }, words)));
}

function spans(query) {
  const chosen = query.get("from") || query.get("to") ? null : query.get("days") ?? String(DAYS_UNLESS_SAID);
  const address = (days) => here({ days, from: null, to: null });
  return choices("Period", SPANS.map(([days, words]) => [address(days), words, days === chosen]));
}

function measures(query) {
  const chosen = measureOf(query);
  return choices("Measure", Object.entries(MEASURES).map(([name, measure]) => (
    [here({ measure: name }), measure.name, measure === chosen])));
}

function dates(query, select) {
  const field = (name, words) => {
    const change = ({ target }) => select({ [name]: target.value, days: null });
    const input = h("input", { type: "date", name, value: query.get(name) ?? "", on: { change } });
    return h("label", { class: "date" }, h("span", { class: "quiet small" }, words), input);
  };
  return h("div", { class: "row" }, field("from", "From"), field("to", "to"));
}
