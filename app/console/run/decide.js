/** What is to be decided by people: a plan that waits for approval or was only made, and questions. Else nothing. */

import { h, set } from "../dom.js";
import { approvalView } from "../decide/approval.js";
import { questionsView } from "../decide/questions.js";
import { plannedView } from "./planned.js";

export function decideView(store) {
  const parts = [questionsView(store), approvalView(store), plannedView(store)];
  const element = h("div", { class: "decide stack", hidden: true }, parts.map((part) => part.element));
  return { element, draw };

  function draw() {
    for (const part of parts) part.draw();
    set(element, { hidden: parts.every((part) => part.element.hidden) });
  }
}
