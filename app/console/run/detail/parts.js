/** What the parts of the detail are made of: sections, made anew when what they show is another, links, and facts. */

import { fill, h, keep, set } from "../../dom.js";
import { SIGNS } from "../../format.js";
import { here } from "../../router.js";

/** What is selected by nothing else than these: every other selection within the work goes. */
export function at(changes) {
  return { task: null, attempt: null, call: null, tool: null, event: null, ...changes };
}

export const toTask = (id) => at({ task: id });
export const toAttempt = (id, attempt) => at({ task: id, attempt });
export const toCall = ({ taskId, attempt, seq }) => at({ task: taskId, attempt, call: seq });
export const toTool = ({ taskId, attempt, seq }) => at({ task: taskId, attempt, tool: seq });
export const toEvent = (seq) => at({ event: seq });

/** A link that selects something on this page. */
export function link(changes, ...children) {
  // By the time it is followed another view may be open, or another filter set.
  const renew = ({ currentTarget }) => set(currentTarget, { href: here(changes) });
  return h("a", { href: here(changes), on: { click: renew, auxclick: renew } }, ...children);
}

/** Links to tasks, with commas between them; `none` when there are none. */
export function taskLinks(ids, fold) {
  if (!ids.length) return "none";
  return ids.flatMap((id, index) => [
    index ? ", " : "",
    fold.tasks.has(id) ? link(toTask(id), h("code", {}, id)) : h("code", {}, id),
  ]);
}

/** A state with its sign. */
export function state(status) {
  return h("span", { class: "state", data: { state: status } },
    h("span", { "aria-hidden": "true" }, SIGNS[status] ?? "·"),
    status,
  );
}

/** A code in words: `output invalid`. */
export const plain = (code) => String(code ?? "").replaceAll("_", " ");

/** What went wrong. */
export function problem(error) {
  return h("div", { class: "failure" }, h("p", {}, h("code", {}, error.code)), h("p", {}, error.message));
}

/**
 * Keep sections up to date: `[name, title, stamp, make]` each, null for one that is not there. One is made anew when
 * its stamp is another; what somebody has opened or marked in the others stays.
 */
export function drawSections(parent, subject, sections) {
  keep(parent, sections.filter(Boolean), {
    key: ([name]) => `${subject} ${name}`,
    make: ([name]) => h("section", { class: `part part-${name}` }),
    change: (element, [, title, stamp, make]) => {
      const now = String(stamp);
      if (element.stamp === now) return;
      element.stamp = now;
      const focused = stops(element).indexOf(document.activeElement);
      fill(element, title && h("h3", {}, title), make());
      if (focused >= 0) stops(element)[focused]?.focus({ preventScroll: true });
    },
  });
}

/** What in it can have the focus, in order. */
function stops(element) {
  return [...element.querySelectorAll("a[href], button, summary, [tabindex]")];
}
