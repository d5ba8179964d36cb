/** What webhooks were told of a run, and telling it once more. */

import { get, post } from "../api.js";
import { announce, fill, h, set } from "../dom.js";
import { hasEnded, moment, plural } from "../format.js";
import { failure } from "../router.js";
import { tableOf } from "../tables.js";

const ERRORS = {
  receiver_refused: "the receiver refused it",
  timeout: "the receiver did not answer in time",
  unreachable: "the receiver cannot be reached",
  address_blocked: "its address is not on the public internet",
  endpoint_disabled: "the webhook is switched off",
  endpoint_gone: "the webhook is gone",
  no_secret: "its secret cannot be read",
};
const STATES = { pending: ["waiting", "◔"], delivered: ["succeeded", "●"], failed: ["failed", "✕"] };
const WHOSE = { job: "webhook of the job", tenant: "webhook of the tenant" };
const NONE = "No webhook is told of this run. A job may bring one along, and a tenant may have one for all runs.";

export function deliveriesView(store) {
  const content = h("div");
  const again = h("button", { hidden: true, on: { click: redeliver } }, "Deliver once more");
  const header = h("header", {}, h("h2", {}, "Webhook deliveries"), again);
  const element = h("section", { class: "panel" }, header, content);
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
    fill(content, deliveries.length ? listOf(deliveries) : h("p", { class: "quiet" }, NONE));
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

function listOf(deliveries) {
  const columns = ["What", "To", "State", "Attempts", "Newest attempt", "Next attempt"];
  return tableOf("Webhook deliveries", columns, deliveries.map((each) => [
    h("code", {}, each.type),
    [each.host ?? "", h("div", { class: "quiet small" }, WHOSE[each.webhook] ?? "its webhook is gone")],
    stateOf(each), plural(each.attempts, "attempt"), moment(each.attempted_at), moment(each.next_attempt_at),
  ]));
}

function stateOf({ status, error, response_status: answer }) {
  const [state, sign] = STATES[status];
  const words = [error && (ERRORS[error] ?? error.replaceAll("_", " ")), answer && `HTTP ${answer}`];
  return [
    h("span", { class: "state", data: { state } }, `${sign} ${status}`),
    h("div", { class: "quiet small" }, words.filter(Boolean).join(", ")),
  ];
}
