/** What can be done about a run: ended, done again, answered anew, taken elsewhere. */

import { download, get, idempotencyKey, post } from "../api.js";
import { copy } from "../copying.js";
import { ask, field } from "../dialog.js";
import { fill, h, set } from "../dom.js";
import { hasEnded } from "../format.js";
import { failure, go } from "../router.js";
import { Written } from "../written.js";
import { curlOf } from "./curl.js";

const REASON_CHARACTERS = 2000;
const STRATEGIES = [
  ["", "as before"], ["merge", "put together from all"], ["select", "the best of several"], ["reduce", "step by step"],
];

export function actionsView(store) {
  const wrong = h("div");
  const trace = `/v1/runs/${store.id}/trace`;
  const cancel = button("Cancel…", () => cancelled(store), "danger");
  const again = button("Retry", () => begin("retry"));
  const failed = button("Retry what failed", () => begin("retry", { only: "failed" }));
  const anew = button("Answer anew…", makeAnew);
  const row = h("div", { class: "row" }, cancel, again, failed, anew,
    h("a", { class: "button plain", href: `/console/new?from=${store.id}` }, "As a new job"),
    button("Copy as curl", () => copied(store), "plain"),
    button("Trace", () => download(trace, `${store.id}.json`), "plain", "Download the trace as JSON"),
    button("OTLP", () => download(`${trace}?format=otlp`, `${store.id}.otlp.json`), "plain",
      "Download its spans as OTLP"));
  const element = h("div", { class: "stack run-actions" }, row, wrong);
  let drawn = "";
  return { element, draw };

  function draw() {
    const { now, run } = store;
    const { total, succeeded } = run.progress.tasks;
    const next = [now.status, run.status, total, succeeded, run.cancellation !== null].join();
    if (next === drawn) return;
    drawn = next;
    const ended = hasEnded(run);
    set(cancel, { hidden: hasEnded(now), disabled: run.cancellation !== null });
    set(again, { hidden: !ended });
    set(failed, { hidden: !ended || !total || succeeded === total });
    set(anew, { hidden: !ended || !succeeded });
  }

  async function makeAnew() {
    const written = new Written(`anew/${store.id}`);
    const body = await answeredAnew(store, written);
    if (body && (await begin("resynthesize", body))) written.forget();
  }

  /** Begin another run. What was not answered is the same intention when it is sent again, and makes one run. */
  async function begin(what, body = undefined) {
    const path = `/v1/runs/${store.id}/${what}`;
    const of = JSON.stringify(body ?? null);
    const unanswered = new Written(`begun/${path}`);
    if (unanswered.read()?.of !== of) unanswered.write({ of, key: idempotencyKey() });
    const run = await post(path, body, { headers: { "Idempotency-Key": unanswered.read().key } });
    unanswered.forget();
    go(`/console/runs/${run.id}`);
    return run;
  }

  function button(text, act, kind = null, name = null) {
    const element = h("button", { type: "button", class: kind, title: name, "aria-label": name, on: { click } }, text);
    return element;

    async function click() {
      fill(wrong);
      set(element, { disabled: true });
      try {
        await act();
      } catch (error) {
        if (error.name !== "AbortError") fill(wrong, failure(error));
      } finally {
        set(element, { disabled: false });
      }
    }
  }
}

async function cancelled(store) {
  const reason = h("textarea", { id: "cancel-reason", name: "reason", maxlength: REASON_CHARACTERS, rows: 3 });
  const body = [h("p", {}, "What is under way is stopped. What has been delivered stays with the run."),
    field("Reason", reason, "Shown with the run; may be left out.")];
  const written = new Written(`cancel/${store.id}`);
  const words = { action: "Cancel the run", leave: "Leave it running", danger: true, written };
  const given = await ask("Cancel this run?", body, words);
  if (!given) return;
  store.take(await post(`/v1/runs/${store.id}/cancel`, { reason: given.get("reason").trim() || null }));
  written.forget();
}

/** How the answer is to be made anew; null when it is not. */
async function answeredAnew(store, written) {
  const instruction = h("textarea", { id: "anew-instruction", name: "final_instruction", rows: 4, maxlength: 20_000 });
  instruction.value = store.fold.plan?.final_instruction ?? "";
  const strategy = h("select", { id: "anew-strategy", name: "strategy" },
    STRATEGIES.map(([value, text]) => h("option", { value }, text)));
  const delivered = (store.fold.plan?.tasks ?? []).filter(({ id }) => store.fold.tasks.get(id)?.status === "succeeded");
  const kept = (value) => h("input", { type: "checkbox", name: "keep", value, checked: true });
  const results = h("fieldset", { class: "keep" }, h("legend", {}, "Results that it rests on"),
    delivered.map(({ id, title }) => h("label", {}, kept(id), ` ${title || id}`)));
  const body = [h("p", {}, "The supervisor makes the answer anew from results that are there, in a run of its own."),
    field("What it is told about the answer", instruction), field("How results become the answer", strategy), results];
  const given = await ask("Answer anew", body, { action: "Make it anew", written });
  if (!given) return null;
  const stay = new Set(given.getAll("keep"));
  return {
    final_instruction: given.get("final_instruction"),
    strategy: given.get("strategy") || null,
    exclude: delivered.map(({ id }) => id).filter((id) => !stay.has(id)),
  };
}

/** The job as it was accepted, while the events are still being read. */
async function firstOf(id) {
  const { data: [event] } = await get(`/v1/runs/${id}/events?types=run.queued&limit=1`);
  return event.data;
}

async function copied(store) {
  const queued = store.fold.events[0]?.data ?? (await firstOf(store.id));
  const done = queued?.inputs?.length ? "Copied. It takes the inputs from files by their names." : "Copied.";
  await copy(curlOf(store.run, queued), "The job as a command", done);
}
