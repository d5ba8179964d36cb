/** The form of a question. What is typed stays, to be sent or copied, when the question is closed meanwhile. */

import { post } from "../api.js";
import { copy } from "../copying.js";
import { announce, fill, h, set } from "../dom.js";
import { failure, here } from "../router.js";
import { keepFields, Written } from "../written.js";
import { tick } from "./deadline.js";

const ANSWER_CHARACTERS = 10_000;

/** Whether an answer to this question was written and not sent. */
export function isWritten(id) {
  return writtenTo(id).read() !== null;
}

export class QuestionForm {
  element;
  #store;
  #id;
  #written;
  #parts;
  #isSending = false;
  #isClosed = false;

  constructor(store, question) {
    this.#store = store;
    this.#id = question.id;
    this.#written = writtenTo(question.id);
    this.#parts = this.#made();
    this.element = this.#layout(question);
    keepFields(this.element, this.#written);
  }

  /** Whether there is an answer here that was not sent. One that reached the service unheard is no such. */
  holdsAnswerTo({ status, answer }) {
    const given = this.#given();
    if (given && status === "answered" && answer === given) this.#written.forget();
    return Boolean(given) && this.#written.read() !== null;
  }

  draw(question) {
    if (question.status === "open") tick(this.#parts.deadline, question.expiresAt, thenOf(question));
    else if (!this.#isSending && !this.#isClosed) this.#close(question);
  }

  #made() {
    const button = (text, click) => h("button", { type: "button", hidden: true, on: { click } }, text);
    return {
      closed: h("div"),
      wrong: h("div"),
      deadline: h("p", { class: "deadline numbers" }),
      send: h("button", { class: "main" }, "Answer"),
      copied: button("Copy what is written", () => copy(this.#given(), "The answer that was not sent")),
      away: button("Put it away", () => {
        this.#written.forget();
        this.#store.changed();
      }),
    };
  }

  #layout(question) {
    const { id, taskId, conflict, choices } = question;
    const { closed, wrong, deadline, send, copied, away } = this.#parts;
    const link = (text, query) => h("a", { href: here(query) }, text);
    const which = conflict && [": ", link(conflict, { conflict, view: "answer" })];
    const about = taskId
      ? ["About the task ", link(taskId, { task: taskId, attempt: null, view: "work" }), ", which waits for it."]
      : ["About a contradiction between results", which, "."];
    const submit = (event) => {
      event.preventDefault();
      this.#send();
    };
    return h("form", { class: "panel question", id, "aria-labelledby": `${id}-title`, on: { submit } },
      h("h2", { id: `${id}-title` }, question.question), h("p", { class: "quiet" }, about), closed,
      choices.length ? choicesOf(question) : textOf(question),
      deadline, h("div", { class: "actions" }, send, copied, away), wrong);
  }

  #given() {
    return new FormData(this.element).get("answer")?.trim() ?? "";
  }

  async #send() {
    const answer = this.#given();
    const { send, wrong } = this.#parts;
    if (!answer || this.#isClosed || this.#isSending) return;
    this.#isSending = true;
    set(send, { disabled: true });
    fill(wrong);
    try {
      await post(`/v1/runs/${this.#store.id}/questions/${this.#id}/answer`, { answer });
      this.#written.forget();
      announce("Answered: the run goes on.");
    } catch (error) {
      fill(wrong, failure(error));
      set(send, { disabled: false });
    } finally {
      this.#isSending = false;
      this.#store.changed();
    }
  }

  /** Say what became of the question, and keep what was typed where it can be copied. */
  #close(question) {
    this.#isClosed = true;
    const { closed, wrong, deadline, send, copied, away } = this.#parts;
    const words = becameOf(question);
    // No live region: the page says it in passing.
    const kept = "What you have written is below, and was not sent.";
    fill(closed, h("div", { class: "notice" }, h("p", {}, words), h("p", { class: "quiet" }, kept)));
    fill(wrong);
    for (const part of [deadline, send]) set(part, { hidden: true });
    for (const part of [copied, away]) set(part, { hidden: false });
    for (const field of this.element.querySelectorAll("textarea")) set(field, { readonly: true });
    for (const field of this.element.querySelectorAll("input")) set(field, { disabled: !field.checked });
    announce(words);
  }
}

function writtenTo(id) {
  return new Written(`answer/${id}`);
}

function becameOf({ status, answer, answeredBy, default: inTheEnd, taskId }) {
  if (status === "answered") {
    return `It has been answered meanwhile${answeredBy ? ` by ${answeredBy}` : ""}: ${answer}`;
  }
  if (status !== "expired") return "It was too late: the question needs no answer any more.";
  const { action, assumption } = inTheEnd;
  if (action === "fail") return "It was too late: nobody has answered in time, and the run has failed.";
  if (action === "skip") return `It was too late: ${taskId ? "the task is left out" : "it stays open"}.`;
  return `It was too late: the run goes on, taking for granted: ${assumption ?? "nothing in particular"}.`;
}

function choicesOf({ choices }) {
  const box = (value) => h("input", { type: "radio", name: "answer", value, required: true });
  return h("fieldset", { class: "choices" }, h("legend", {}, "The answer"),
    choices.map((choice) => h("label", {}, box(choice), ` ${choice}`)));
}

function textOf({ id }) {
  const kept = { name: "answer", rows: 3, required: true, maxlength: ANSWER_CHARACTERS };
  const text = h("textarea", { id: `${id}-answer`, dir: "auto", ...kept });
  return h("div", { class: "field" }, h("label", { for: text.id }, "The answer"), text);
}

/** What is done when nobody answers. */
function thenOf({ default: { action, assumption }, taskId }) {
  if (action === "fail") return "the run fails unless somebody answers";
  if (action === "skip") return `${taskId ? "the task is left out" : "it stays open"} unless somebody answers`;
  return `it goes on unless somebody answers, taking for granted: ${assumption ?? "nothing in particular"}`;
}
