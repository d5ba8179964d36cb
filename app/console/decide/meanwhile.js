/** Somebody else has saved another revision while this one was edited. */

import { h } from "../dom.js";
import { differenceOf } from "../run/revisions.js";

/** What they have changed, and the choice between `keep()` and `restart()`. */
export function meanwhile(base, plan, { keep, restart }) {
  const { added, removed, changed, fields } = differenceOf(base, plan);
  const names = [
    ...added.map((id) => `${id} is new`),
    ...removed.map((id) => `${id} is gone`),
    ...changed.map(({ task, fields: some }) => `${task} has another ${some.map(({ label }) => label).join(", ")}`),
    ...fields.map(({ label }) => `the ${label} is another`),
  ];
  return h("div", { class: "notice stack", role: "alert" },
    h("p", {}, `Somebody has saved revision ${plan.revision} meanwhile (${plan.reason}): ${names.join("; ")}.`),
    h("p", {}, "Your edit is as you left it."),
    h("div", { class: "actions" },
      h("button", { type: "button", on: { click: keep } }, "Put mine in place of theirs"),
      h("button", { type: "button", on: { click: restart } }, "Begin anew from theirs")));
}
