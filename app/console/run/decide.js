/** What is to be decided by people: a plan that waits for approval, and questions. Nothing when nothing waits. */

import { h, set } from "../dom.js";
import { approvalView } from "../decide/approval.js";
import { questionsView } from "../decide/questions.js";

export function decideView(store) {
  const parts = [questionsView(store), approvalView(store)];
  const element = h("div", { class: "decide stack", hidden: true }, parts.map((part) => part.element));
  return { element, draw };

  function draw() {
    for (const part of parts) part.draw();
    set(element, { hidden: parts.every((part) => part.element.hidden) });
  }
}
