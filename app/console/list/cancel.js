/** Cancelling many runs by what they have in common: first which it would be, once that is confirmed all of them. */

import { post } from "../api.js";
import { ask, field } from "../dialog.js";
import { announce, h } from "../dom.js";
import { plural } from "../format.js";
import { bulkFilter, strangersIn } from "./query.js";

const AT_A_TIME = 100;
const IDS_SHOWN = 5;
const NAMED = {
  stop_reason: "why they ended", finished_after: "when they ended", finished_before: "when they ended",
  cost_usd_min: "what they cost", cost_usd_max: "what they cost",
};

/** Why the runs of this address cannot be cancelled together; null when they can. */
export function notTogether(query) {
  const { beyond } = bulkFilter(query);
  const [stranger] = strangersIn(query);
  if (stranger) return `The address has a filter that there is not: ${stranger}.`;
  return beyond.length ? `The filter says ${NAMED[beyond[0]]}: such runs have ended already.` : null;
}

/** Ask whether the runs of this address are to be cancelled, and have it done. Throws `Problem`, `Unreachable`. */
export async function cancelTogether(query) {
  const { filter } = bulkFilter(query);
  const which = Object.keys(filter).length ? { filter } : { all: true };
  const { matching, data } = await post("/v1/runs/cancel", { ...which, dry_run: true, limit: IDS_SHOWN });
  if (!matching) {
    announce("None of them goes on: there is nothing to cancel.");
    return;
  }
  const title = which.all ? "Cancel every run that goes on?" : "Cancel the runs of this filter?";
  const words = { action: `Cancel ${plural(matching, "run")}`, leave: "Leave them", danger: true };
  const given = await ask(title, told(matching, data), words);
  if (given) announce(`${plural(await cancelled(which, given.get("reason").trim()), "run")} cancelled.`);
}

function told(matching, ids) {
  const reason = h("input", { id: "reason", name: "reason", maxlength: 2000, placeholder: "shown with each run" });
  const more = matching - ids.length;
  return [
    h("p", {}, `${plural(matching, "run")} that ${matching === 1 ? "goes" : "go"} on:`),
    h("ul", { class: "plain-list mono" }, ids.map((id) => h("li", {}, id))),
    more > 0 && h("p", {}, `and ${more} more.`),
    field("Reason (may be left out)", reason),
  ];
}

/** Cancel them, so many at a time; how many were. */
async function cancelled(which, reason) {
  let number = 0;
  for (let after; ;) {
    const body = { ...which, dry_run: false, limit: AT_A_TIME, after, reason: reason || undefined };
    const page = await post("/v1/runs/cancel", body);
    number += page.cancelled;
    if (!page.has_more) return number;
    after = page.next_cursor;
  }
}
