/** What webhooks were told of a run, and telling it once more. */

import { announce, fill, h, set } from "../dom.js";
import { get, post } from "../api.js";
import { hasEnded, moment, plural } from "../format.js";
import { failure } from "../router.js";

const ERRORS = {
  receiver_refused: "the receiver refused it", timeout: "the receiver did not answer in time", unreachable: "the receiver cannot be reached",
  address_blocked: "its address is not on the public internet", endpoint_disabled: "the webhook is switched off", endpoint_gone: "the webhook is gone", no_secret: "its secret cannot be read",
};
const STATES = { pending: ["waiting", "◔"], delivered: ["succeeded", "●"], failed: ["failed", "✕"] };

export function deliveriesView(store) {
  const content = h("div");
  const again = h("button", { hidden: true, on: { click: redeliver } }, "Deliver once more");
  const element = h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Webhook deliveries"), again), content);
  let looked = null;
  return { element, draw };

  function draw() {
    const state = hasEnded(store.run) ? "ended" : store.run.status;
    if (looked === state) return;
    looked = state;
    look();
  }

  async function look() {
    try {
      show((await get(`/v1/runs/${store.id}/deliveries`)).data);
    } catch (error) {
      fill(content, failure(error, look));
    }
  }

  function show(deliveries) {
    again.hidden = !deliveries.some(({ status }) => status !== "pending");
    fill(content, deliveries.length ? tableOf(deliveries) : h("p", { class: "quiet" }, "No webhook is told of this run. A job may bring one along, and a tenant may have one for all runs."));
  }

  async function redeliver() {
    set(again, { disabled: true });
    try {
      const { data } = await post(`/v1/runs/${store.id}/redeliver`, {});
      announce("What was delivered or has failed is delivered once more.");
      show(data);
    } catch (error) {
      announce(error.message);
    }
    set(again, { disabled: false });
  }
}

function tableOf(deliveries) {
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Webhook deliveries" }, h("table", {},
    h("thead", {}, h("tr", {}, ["What", "To", "State", "Attempts", "Newest attempt", "Next attempt"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, deliveries.map((each) => h("tr", {},
      h("th", { scope: "row", class: "name" }, h("code", {}, each.type)),
      h("td", {}, each.host ?? "", h("div", { class: "quiet small" }, { job: "webhook of the job", tenant: "webhook of the tenant" }[each.webhook] ?? "its webhook is gone")),
      h("td", { data: { state: STATES[each.status][0] } }, h("span", { class: "state" }, `${STATES[each.status][1]} ${each.status}`), h("div", { class: "quiet small" }, detailOf(each))),
      h("td", { class: "numbers" }, plural(each.attempts, "attempt")), h("td", { class: "numbers" }, moment(each.attempted_at)), h("td", { class: "numbers" }, moment(each.next_attempt_at)))))));
}

function detailOf({ error, response_status: status }) {
  return [error && (ERRORS[error] ?? error.replaceAll("_", " ")), status && `HTTP ${status}`].filter(Boolean).join(", ");
}
