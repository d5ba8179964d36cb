/** What webhooks were told of a run, and telling it once more. */

import { get, post } from "../api.js";
import { announce, fill, h, set } from "../dom.js";
import { hasEnded, moment, plural } from "../format.js";
import { every } from "../frames.js";
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

const LOOK_AGAIN_MS = 3000;

export function deliveriesView(store) {
  const content = h("div");
  const again = h("button", { hidden: true, on: { click: redeliver } }, "Deliver once more");
  const header = h("header", {}, h("h2", {}, "Webhook deliveries"), again);
  const element = h("section", { class: "panel" }, header, content);
  let looked = null;
  let known = [];
  let shown = null;
  // What is pending is delivered, or fails, behind the end of the run, of which no event tells.
  every(LOOK_AGAIN_MS, () => element.isConnected && known.some(isPending) && lookAgain(), store.signal);
  return { element, draw };

  function draw() {
    const state = hasEnded(store.run) ? "ended" : store.run.status;
    if (looked === state) return;
    looked = state;
    look();
  }

  async function look() {
    try {
      show(await newest());
    } catch (error) {
      shown = null;
      if (!store.signal.aborted) fill(content, failure(error, look));
    }
  }

  /** One look that fails says nothing: the next one follows. */
  async function lookAgain() {
    show(await newest().catch(() => known));
  }

  async function newest() {
    return (await get(`/v1/runs/${store.id}/deliveries`, { signal: store.signal })).data;
  }

  function show(deliveries) {
    known = deliveries;
    const form = JSON.stringify(deliveries);
    if (form === shown) return;
    shown = form;
    again.hidden = deliveries.every(isPending);
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

const isPending = ({ status }) => status === "pending";

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
