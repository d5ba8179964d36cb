/** The answer of a run: as it came out, as far as it has come, or why there is none. */

import { fill, h } from "../dom.js";
import { hasEnded } from "../format.js";
import { answerPage } from "./answer_page.js";
import { draftView } from "./draft.js";
import { isOnlyPlanned } from "./planned.js";
import { TaskLinks } from "./task_links.js";

const ONLY_PLANNED = "Only a plan was made. Nothing of it was carried out.";

export function answerView(store) {
  const element = h("section", { class: "answer", "aria-label": "Answer" });
  const tasks = new TaskLinks(store);
  const draft = draftView(store, tasks);
  let shown = null;
  let page = null;
  let chosen = null;
  return { element, draw };

  function draw() {
    const { result, isFinal } = newest(store);
    const wanted = result ?? (hasEnded(store.run) ? store.run : draft);
    if (shown !== wanted) show(wanted, { result, isFinal });
    if (wanted === draft) draft.draw();
    tasks.draw();
    if (result) choose();
  }

  function show(wanted, { result, isFinal }) {
    shown = wanted;
    chosen = null;
    if (result) {
      tasks.clear();
      page = answerPage(store, result, { tasks, isFinal });
      fill(element, page.element);
    } else fill(element, wanted === draft ? draft.element : withoutAnswer(store.run));
  }

  /** Show what the address says, once: who scrolls on is not taken back. */
  function choose() {
    const wanted = [store.query.get("statement"), store.query.get("conflict")];
    if (chosen === wanted.join("/")) return;
    chosen = wanted.join("/");
    page.choose(...wanted);
  }
}

/** The result of the run; while it goes on, the newest answer that has passed its checks, unless work came after. */
function newest({ run, fold }) {
  if (isOnlyPlanned(run)) return { result: null, isFinal: true };
  if (run.result || hasEnded(run)) return { result: run.result, isFinal: true };
  const last = fold.events.findLast(({ type }) => type === "synthesis.completed" || type === "plan.revised");
  return { result: last?.type === "synthesis.completed" ? last.data : null, isFinal: false };
}

function withoutAnswer(run) {
  const { status, error } = run;
  return h("section", { class: "panel document" },
    h("header", {}, h("h2", {}, "There is no answer")),
    h("p", {}, isOnlyPlanned(run) ? ONLY_PLANNED : error ? error.message : `The run is ${status}.`),
    error && h("p", { class: "quiet" }, h("code", {}, error.code)));
}
