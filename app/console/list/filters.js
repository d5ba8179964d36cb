/** The filters of the list of runs. They live in the address: a field shows what stands there, and changes that. */

import { get } from "../api.js";
import { fill, h, set } from "../dom.js";
import { SIGNS } from "../format.js";
import { filtersIn, labelOf, localMoment, momentOf, partsOf, withoutFilters } from "./query.js";

const STATES = ["queued", "running", "waiting", "succeeded", "partial", "failed", "cancelled"];
const REASONS = [
  "completed", "planned", "gaps", "budget_exhausted", "deadline_exceeded", "synthesis_failed", "review_failed",
  "plan_invalid", "plan_empty", "plan_too_large", "plan_truncated", "plan_unparseable", "plan_rejected",
  "worker_unknown", "no_workers", "no_results", "model_refusal", "request_rejected", "provider_auth",
  "provider_billing", "provider_unavailable", "question_expired", "internal_error", "cancelled",
];
const ORDERS = [
  ["Newest first", "", ""], ["Oldest first", "created_at", "asc"], ["Ended last", "finished_at", ""],
  ["Dearest first", "cost_usd", ""], ["Cheapest first", "cost_usd", "asc"],
];
const FOLDED = new Set([
  "stop_reason", "parent", "metadata", "created_after", "created_before", "finished_after", "finished_before",
  "cost_usd_min", "cost_usd_max",
]);

/** The form; `change(changes)` is told what is to be different in the address. `shows(query)` fills it in. */
export function filterForm({ change, signal }) {
  let shown = new URLSearchParams();
  const fields = new Map();
  const field = (name, label, control, read = (value) => value.trim() || null) => {
    set(control, { id: `filter-${name}`, on: { change: () => change({ [name]: read(control.value), after: null }) } });
    fields.set(name, control);
    return h("div", { class: "field" }, h("label", { for: control.id }, label), control);
  };
  const moment = (name, label) =>
    field(name, label, h("input", { type: "datetime-local", data: { moment: "" } }), momentOf);
  const amount = (name, label) =>
    field(name, label, h("input", { inputmode: "decimal", size: 8, placeholder: "0.00" }));
  const states = h("div", { class: "row states", role: "group", "aria-label": "State" });
  const team = h("select", {}, h("option", { value: "" }, "any team"));
  const order = h("select", { id: "filter-order" }, ORDERS.map(([text], place) => h("option", { value: place }, text)));
  const labels = h("div", { class: "row" });
  const clear = h("button", { type: "button", class: "plain", on: { click: () => change(withoutFilters()) } }, "Clear");
  const more = h("details", {}, h("summary", {}),
    h("div", { class: "grid" },
      field("stop_reason", "Ended because", h("select", {}, h("option", { value: "" }, "any reason"),
        REASONS.map((reason) => h("option", { value: reason }, reason.replaceAll("_", " "))))),
      moment("created_after", "Created from"), moment("created_before", "Created before"),
      moment("finished_after", "Ended from"), moment("finished_before", "Ended before"),
      amount("cost_usd_min", "Cost from ($)"), amount("cost_usd_max", "Cost up to ($)"),
      field("parent", "Nested in run", h("input", { placeholder: "run_…", spellcheck: "false" })),
      metadata()));
  const submit = (event) => event.preventDefault();
  const element = h("form", { class: "filters panel", role: "search", "aria-label": "Runs", on: { submit } },
    h("div", { class: "row" }, states, field("team", "Team", team), orders(), clear), more);
  offerTeams();
  return { element, shows };

  function orders() {
    order.addEventListener("change", () => {
      const [, sort, way] = ORDERS[order.value];
      change({ sort, order: way, after: null });
    });
    return h("div", { class: "field" }, h("label", { for: order.id }, "Sorted"), order);
  }

  function metadata() {
    const input = h("input", { id: "filter-metadata", placeholder: "ticket=T-1", spellcheck: "false" });
    const add = () => {
      const [key, ...rest] = input.value.split("=");
      if (!key.trim() || !rest.length) return;
      change({ metadata: [...shown.getAll("metadata"), labelOf(key.trim(), rest.join("=").trim())], after: null });
      input.value = "";
    };
    input.addEventListener("change", add);
    return h("div", { class: "field" }, h("label", { for: input.id }, "Metadata"), input, labels);
  }

  function shows(query) {
    shown = query;
    fill(states, STATES.map((state) => toggle(query, state)));
    for (const [name, control] of fields) {
      const value = query.get(name) ?? "";
      const wanted = "moment" in control.dataset ? localMoment(value) : value;
      const isOffered = [...(control.options ?? [])].some((option) => option.value === wanted);
      if (control.options && !isOffered) control.append(h("option", { value: wanted }, wanted));
      if (control.value !== wanted) control.value = wanted;
    }
    const sorted = [query.get("sort") ?? "", query.get("order") ?? ""];
    order.value = Math.max(0, ORDERS.findIndex(([, sort, way]) => sort === sorted[0] && way === sorted[1]));
    fill(labels, query.getAll("metadata").map((label) => chip(query, label)));
    const named = filtersIn(query);
    const folded = named.filter((name) => FOLDED.has(name)).length;
    fill(more.querySelector("summary"), folded ? `More filters (${folded})` : "More filters");
    if (folded) more.open = true;
    clear.hidden = !named.length;
  }

  function toggle(query, state) {
    const on = query.getAll("status");
    const pressed = on.includes(state);
    const click = () => {
      change({ status: pressed ? on.filter((each) => each !== state) : [...on, state], after: null });
      states.querySelector(`[data-state="${state}"]`).focus();
    };
    const props = { type: "button", class: "state", "aria-pressed": String(pressed), data: { state }, on: { click } };
    return h("button", props, h("span", { "aria-hidden": "true" }, SIGNS[state]), ` ${state}`);
  }

  function chip(query, label) {
    const [key, value] = partsOf(label) ?? [label, ""];
    const metadata = query.getAll("metadata").filter((each) => each !== label);
    const click = () => change({ metadata, after: null });
    const props = { type: "button", class: "chip", "aria-label": `Without ${key}=${value}`, on: { click } };
    return h("button", props, `${key}=${value} ✕`);
  }

  async function offerTeams() {
    // The list is there without it: a service that is away says so where the runs would be.
    const page = await get("/v1/teams", { signal, ask: false }).catch(() => ({ data: [] }));
    const there = new Set([...team.options].map((option) => option.value));
    const names = page.data.map(({ name }) => name).filter((name) => !there.has(name));
    team.append(...names.map((name) => h("option", { value: name }, name)));
  }
}
