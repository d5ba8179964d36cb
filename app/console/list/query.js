/** Which runs a list shows, as its address says it: the parameters of `GET /v1/runs`, by their own names. */

import { withQuery } from "../api.js";

export const PAGE = 25;
const NAMES = [
  "status", "team", "stop_reason", "parent", "metadata", "created_after", "created_before", "finished_after",
  "finished_before", "cost_usd_min", "cost_usd_max", "sort", "order", "after",
];
const ORDERS = new Set(["sort", "order", "after"]);
const OF_ALL_STATES = ["status", "team", "parent", "created_after", "created_before"];

/** Where the service has this list. A name that it does not know goes along, so that it says so. */
export function pathOf(query) {
  const asked = Object.fromEntries([...NAMES, ...strangersIn(query)].map((name) => [name, query.getAll(name)]));
  return withQuery(`/v1/runs?limit=${PAGE}&include=levels`, asked);
}

/** The names in the address that are none of a list. */
export function strangersIn(query) {
  return [...new Set(query.keys())].filter((name) => !NAMES.includes(name));
}

/** The names of the filters that the address has. */
export function filtersIn(query) {
  return NAMES.filter((name) => !ORDERS.has(name) && query.getAll(name).some(Boolean));
}

/** Changes that take every filter out, and what is none. */
export function withoutFilters(query = new URLSearchParams(location.search)) {
  const filters = NAMES.filter((name) => !ORDERS.has(name) || name === "after");
  return Object.fromEntries([...filters, ...strangersIn(query)].map((name) => [name, null]));
}

/** `{ticket: "T-1"}` as an address has it: `ticket:T-1`, with `:` and `\` of the key marked. */
export function labelOf(key, value) {
  return `${key.replace(/[:\\]/g, "\\$&")}:${value}`;
}

/** The key and the value of a label in an address; null for what is none. */
export function partsOf(label) {
  const found = /^((?:[^:\\]|\\.)+):(.*)$/s.exec(label);
  return found && [found[1].replace(/\\(.)/gs, "$1"), found[2]];
}

/** A moment of an address as a field of this reader's own zone has it, and back. */
export function localMoment(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function momentOf(local) {
  return local ? new Date(local).toISOString().replace(/:00\.000Z$/, "Z").replace(/(T\d\d:\d\d)Z$/, "$1:00Z") : null;
}

/** The filter by which many runs are cancelled (`POST /v1/runs/cancel`); `beyond` names what it cannot say. */
export function bulkFilter(query) {
  const names = filtersIn(query);
  const filter = {};
  for (const name of names.filter((each) => OF_ALL_STATES.includes(each))) {
    filter[name] = name === "status" ? query.getAll(name) : query.get(name);
  }
  const labels = query.getAll("metadata").map(partsOf).filter(Boolean);
  if (labels.length) filter.metadata = Object.fromEntries(labels);
  return { filter, beyond: names.filter((name) => name !== "metadata" && !OF_ALL_STATES.includes(name)) };
}
