/** The questions of a run: those that wait for an answer, and what became of the others. */

import { post } from "../api.js";
import { announce, fill, h, keep, say, set } from "../dom.js";
import { moment, plural } from "../format.js";
import { failure, here } from "../router.js";
import { tick } from "./deadline.js";

const ANSWER_CHARACTERS = 10_000;
const ENDS = { answered: "answered", expired: "nobody answered", closed: "needs no answer any more" };

export function questionsView(store) {
  const open = h("div", { class: "stack" });
  const list = h("ul", { class: "asked" });
  const summary = h("summary");
  const past = h("details", { class: "panel past", hidden: true }, summary, list);
  const element = h("div", { class: "questions stack" }, open, past);
  let drawn = "";
  return { element, draw };

  function draw() {
    const questions = [...store.fold.questions.values()];
    const waiting = questions.filter(({ status }) => status === "open");
    keep(open, store.caughtUp ? waiting : [], {
      key: ({ id }) => id,
      make: (question) => questionForm(store, question),
      change: (form, question) => tick(form.querySelector(".deadline"), question.expiresAt, thenOf(question)),
    });
    const ended = questions.filter(({ status }) => status !== "open");
    set(element, { hidden: !open.children.length && !ended.length });
    const chosen = store.query.get("question");
    const next = `${ended.map(({ id, status }) => id + status).join()}|${chosen}`;
    if (next === drawn) return;
    drawn = next;
    set(past, { hidden: !ended.length });
    say(summary, `${plural(ended.length, "question")} ${waiting.length ? "before" : "to people"}`);
    fill(list, ended.map(endedOf));
    if (ended.some(({ id }) => id === chosen)) set(past, { open: true });
    document.getElementById(chosen)?.scrollIntoView({ block: "nearest" });
  }
}

function questionForm(store, question) {
  const { id, taskId, conflict, choices } = question;
  const answer = choices.length ? choicesOf(question) : textOf(question);
  const wrong = h("div");
  const send = h("button", { class: "main" }, "Answer");
  const link = (text, query) => h("a", { href: here(query) }, text);
  const about = taskId
    ? ["About the task ", link(taskId, { task: taskId, attempt: null, view: "work" }), ", which waits for it."]
    : ["About a contradiction between results", conflict && [": ", link(conflict, { conflict, view: "answer" })], "."];
  const form = h("form", { class: "panel question", id, "aria-labelledby": `${id}-title`, on: { submit } },
    h("h2", { id: `${id}-title` }, question.question), h("p", { class: "quiet" }, about), answer,
    h("p", { class: "deadline numbers" }), h("div", { class: "actions" }, send), wrong);
  return form;

  async function submit(event) {
    event.preventDefault();
    const given = new FormData(form).get("answer")?.trim();
    if (!given) return;
    set(send, { disabled: true });
    fill(wrong);
    try {
      await post(`/v1/runs/${store.id}/questions/${id}/answer`, { answer: given });
      announce("Answered: the run goes on.");
    } catch (error) {
      fill(wrong, failure(error));
      set(send, { disabled: false });
    }
  }
}

function choicesOf({ choices }) {
  const box = (value) => h("input", { type: "radio", name: "answer", value, required: true });
  return h("fieldset", { class: "choices" }, h("legend", {}, "The answer"),
    choices.map((choice) => h("label", {}, box(choice), ` ${choice}`)));
}

function textOf({ id }) {
  const kept = { name: "answer", rows: 3, required: true, maxlength: ANSWER_CHARACTERS };
  const text = h("textarea", { id: `${id}-answer`, ...kept });
  return h("div", { class: "field" }, h("label", { for: text.id }, "The answer"), text);
}

/** What is done when nobody answers. */
function thenOf({ default: { action, assumption }, taskId }) {
  if (action === "fail") return "the run fails unless somebody answers";
  if (action === "skip") return `${taskId ? "the task is left out" : "it stays open"} unless somebody answers`;
  return `it goes on unless somebody answers, taking for granted: ${assumption ?? "nothing in particular"}`;
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
