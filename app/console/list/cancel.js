/** Cancelling many runs by what they have in common: first which it would be, once that is confirmed all of them. */

import { post } from "../api.js";
import { announce, fill, h, say } from "../dom.js";
import { plural } from "../format.js";
import { failure } from "../router.js";
import { bulkFilter } from "./query.js";

const AT_A_TIME = 100;
const IDS_SHOWN = 5;
const NAMED = {
  stop_reason: "why they ended", finished_after: "when they ended", finished_before: "when they ended",
  cost_usd_min: "what they cost", cost_usd_max: "what they cost",
};

/** Why the runs of this address cannot be cancelled together; null when they can. */
export function notTogether(query) {
  const { beyond } = bulkFilter(query);
  return beyond.length ? `The filter says ${NAMED[beyond[0]]}: such runs have ended already.` : null;
}

/** Ask whether the runs of this address are to be cancelled, and have it done. */
export function askToCancel(query, done) {
  const { filter } = bulkFilter(query);
  const which = Object.keys(filter).length ? { filter } : { all: true };
  const opened = new AbortController();
  const said = h("div", { class: "stack" }, h("p", { class: "quiet" }, "Looking which runs that would be …"));
  const reason = h("input", { id: "cancel-reason", maxlength: 2000, placeholder: "shown with each run" });
  const confirm = h("button", { class: "danger", type: "button", disabled: true }, "Cancel them");
  confirm.addEventListener("click", cancel);
  const leave = h("button", { type: "button", on: { click: () => dialog.close() } }, "Leave them");
  const dialog = h("dialog", { "aria-labelledby": "cancel-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "cancel-title" }, which.all ? "Cancel every run that goes on?" : "Cancel the runs of this filter?"),
      said, h("div", { class: "field" }, h("label", { for: reason.id }, "Reason (may be left out)"), reason),
      h("div", { class: "actions" }, confirm, leave)));
  dialog.addEventListener("close", () => { opened.abort(); dialog.remove(); });
  document.body.append(dialog);
  dialog.showModal();
  leave.focus();
  tell();

  async function tell() {
    try {
      const body = { ...which, dry_run: true, limit: IDS_SHOWN };
      const { matching, data } = await post("/v1/runs/cancel", body, { signal: opened.signal });
      const more = matching - data.length;
      const none = "None of them goes on: there is nothing to cancel.";
      fill(said, h("p", {}, matching ? `${plural(matching, "run")} that ${matching === 1 ? "goes" : "go"} on:` : none),
        h("ul", { class: "plain-list mono" }, data.map((id) => h("li", {}, id))),
        more > 0 && h("p", {}, `and ${more} more.`));
      confirm.disabled = !matching;
      say(confirm, matching ? `Cancel ${plural(matching, "run")}` : "Cancel them");
    } catch (error) {
      if (!opened.signal.aborted) fill(said, failure(error, tell));
    }
  }

  async function cancel() {
    confirm.disabled = true;
    let cancelled = 0;
    try {
      for (let after; ;) {
        const body = { ...which, dry_run: false, limit: AT_A_TIME, after, reason: reason.value.trim() || undefined };
        const page = await post("/v1/runs/cancel", body);
        cancelled += page.cancelled;
        say(confirm, `${plural(cancelled, "run")} cancelled …`);
        if (!page.has_more) break;
        after = page.next_cursor;
      }
      dialog.close();
      announce(`${plural(cancelled, "run")} cancelled.`);
    } catch (error) {
      fill(said, cancelled > 0 && h("p", {}, `${plural(cancelled, "run")} cancelled so far.`), failure(error));
      confirm.disabled = false;
    }
    done();
  }
}
