/** A run that was only planned: what it would take, and the way to have it carried out. */

import { fill, h, set } from "../dom.js";
import { quoteOf } from "../quote.js";

/** Hidden unless the run is such a one, and has ended well. */
export function plannedView(store) {
  const quote = h("div");
  const element = h("section", { class: "panel approval-head", hidden: true, "aria-labelledby": "planned-title" },
    h("div", { class: "stack" },
      h("h2", { id: "planned-title" }, "Only a plan was made"),
      h("p", { class: "quiet" }, "The job was planned to see what it would take. Nothing of it was carried out."),
      h("div", { class: "actions" },
        h("a", { class: "button main", href: `/console/new?from=${store.id}` }, "To the form with this job"))),
    quote);
  let drawn = null;
  return { element, draw };

  function draw() {
    set(element, { hidden: !isOnlyPlanned(store.run) });
    const { plan } = store.fold;
    if (!plan?.quote || drawn === plan.revision) return;
    drawn = plan.revision;
    fill(quote, quoteOf(plan.quote));
  }
}

/** Whether a run has made its plan, as it was to, and nothing else. */
export function isOnlyPlanned({ status, limits }) {
  return Boolean(limits.dry_run) && status === "succeeded";
}
