/** The questions of a run: those that wait for an answer, and what became of the others. */

import { fill, h, keep, say, set } from "../dom.js";
import { moment, plural } from "../format.js";
import { isWritten, QuestionForm } from "./question_form.js";

const ENDS = { answered: "answered", expired: "nobody answered", closed: "needs no answer any more" };

export function questionsView(store) {
  const forms = new Map();
  const open = h("div", { class: "stack" });
  const list = h("ul", { class: "asked" });
  const summary = h("summary");
  const past = h("details", { class: "panel past", hidden: true }, summary, list);
  const element = h("div", { class: "questions stack" }, open, past);
  let drawn = "";
  return { element, draw };

  function draw() {
    const questions = [...store.fold.questions.values()];
    const shown = store.caughtUp ? questions.filter(isShown) : [];
    keep(open, shown, {
      key: ({ id }) => id,
      make: ({ id }) => forms.get(id).element,
      change: (_, question) => forms.get(question.id).draw(question),
    });
    drawPast(questions.filter((each) => each.status !== "open" && !shown.includes(each)), shown.length > 0);
    set(element, { hidden: !open.children.length && past.hidden });
  }

  /** A question that waits; and one that does not any more while there is an answer to it that was not sent. */
  function isShown(question) {
    const { id, status } = question;
    if (status !== "open" && !isWritten(id)) return false;
    if (!forms.has(id)) forms.set(id, new QuestionForm(store, question));
    return status === "open" || forms.get(id).holdsAnswerTo(question);
  }

  function drawPast(ended, others) {
    const chosen = store.query.get("question");
    const next = `${ended.map(({ id, status }) => id + status).join()}|${chosen}|${others}`;
    if (next === drawn) return;
    drawn = next;
    set(past, { hidden: !ended.length });
    say(summary, `${plural(ended.length, "question")} ${others ? "before" : "to people"}`);
    fill(list, ended.map(endedOf));
    if (ended.some(({ id }) => id === chosen)) set(past, { open: true });
    document.getElementById(chosen)?.scrollIntoView({ block: "nearest" });
  }
}

function endedOf({ id, question, status, answer, answeredBy, askedAt, taskId, default: inTheEnd }) {
  const assumption = inTheEnd.assumption ?? "nothing in particular";
  const assumed = status === "expired" && inTheEnd.action === "proceed" && assumption;
  const became = answer ?? (assumed && `Taken for granted: ${assumed}`);
  const facts = [ENDS[status], answeredBy && `by ${answeredBy}`, `asked ${moment(askedAt)}`, taskId && `for ${taskId}`];
  return h("li", { id }, h("p", {}, question),
    became && h("p", { class: "given" }, became),
    h("p", { class: "quiet small" }, facts.filter(Boolean).join(" · ")));
}
