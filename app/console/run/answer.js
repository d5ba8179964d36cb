/**
 * The answer as a document. Each statement leads to the tasks it rests on, and beside it stands what it lacks: conflicts,
 * gaps, coverage, the critic's words. Addresses: `?statement=3`, `?conflict=c1`.
 */

import { announce, fill, h, set } from "../dom.js";
import { hasEnded, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { markdown } from "../markdown.js";
import { here } from "../router.js";
import { assumptionsOf, conflictsOf, gapsOf } from "./conflicts.js";
import { coverageOf, reviewOf, selectionOf, standingOf } from "./coverage.js";
import { draftView } from "./draft.js";
import { findingsOf, holdsFindings } from "./findings.js";
import { outputsOf } from "./outputs.js";
import { mark, placesOf, wordsOf } from "./statements.js";
import { StatementCard } from "./statement_card.js";
import { TaskLinks } from "./task_links.js";

export function answerView(store) {
  const element = h("section", { class: "answer", "aria-label": "Answer" });
  const tasks = new TaskLinks(store);
  const draft = draftView(store, tasks);
  let shown = null;
  let page = null;
  let selection = null;
  return { element, draw };

  function draw() {
    const { result, draftOf } = newest();
    if (!result) {
      if (shown !== draft) fill(element, hasEnded(store.run) ? withoutAnswer(store.run) : draft.element);
      shown = hasEnded(store.run) ? null : draft;
      if (shown) draft.draw();
    } else if (shown !== result) {
      shown = result;
      tasks.clear();
      page = pageOf(store, result, tasks, draftOf);
      selection = null;
      fill(element, page.element);
    }
    tasks.draw();
    if (result) chosen();
  }

  function chosen() {
    const wanted = `${store.query.get("statement") ?? ""}/${store.query.get("conflict") ?? ""}`;
    if (selection === wanted) return;
    selection = wanted;
    page.choose(store.query.get("statement"), store.query.get("conflict"));
  }

  /** The result of the run; while it goes on, the newest answer that has passed its checks. */
  function newest() {
    if (store.run.result?.outputs?.length || store.run.result?.answer) return { result: store.run.result, draftOf: null };
    if (hasEnded(store.run)) return { result: store.run.result, draftOf: null };
    const event = store.fold.events.findLast((each) => each.type === "synthesis.completed" || each.type === "plan.revised");
    return event?.type === "synthesis.completed" ? { result: event.data, draftOf: event } : { result: null, draftOf: null };
  }
}

function withoutAnswer({ status, error }) {
  return h("section", { class: "panel document" },
    h("header", {}, h("h2", {}, "There is no answer")),
    h("p", {}, error ? error.message : `The run is ${status}.`),
    error && h("p", { class: "quiet" }, h("code", {}, error.code)));
}

function pageOf(store, result, tasks, draftOf) {
  const article = h("div", { class: "prose answer-text" });
  const card = new StatementCard(article, {
    content: (number) => restsOn(result.statements[number - 1], number, tasks),
    select: (number) => store.select({ statement: number }, { replace: number === null }),
  });
  const unplaced = result.answer ? written(article, result, store) : [];
  const data = result.data ?? null;
  const document = h("div", { class: "stack" },
    h("section", { class: "panel document" },
      h("header", {}, h("h2", {}, result.answer ? "Answer" : "There is no answer"), draftOf && h("span", { class: "chip" }, "not final: the run goes on"), result.answer && actions(result)),
      h("p", { class: "print-only" }, store.run.objective),
      result.answer ? article : h("p", {}, "The results could not be put together into one. What each task brought is below."),
      unplaced.length > 0 && elsewhere(unplaced, result.statements, tasks)),
    result.rejected_answer && rejected(result.rejected_answer),
    holdsFindings(data) && findingsOf(data, tasks),
    dataOf(data, result.data_sources ?? [], tasks),
    outputsOf(result.outputs ?? [], tasks, { open: !result.answer }));
  const element = h("div", { class: "answer-page" }, document, besides(result, tasks));
  return { element, choose: (statement, conflict) => choose(element, card, statement, conflict) };
}

/** Write the answer, with its statements marked; gives the numbers of those that are not found in it. */
function written(article, { answer, statements = [] }, store) {
  fill(article, markdown(answer));
  const words = wordsOf(article);
  const places = placesOf(statements.map(({ text }) => text), words);
  mark(places, words, (number) => reference(number, statements[number - 1], places[number - 1].exact, store));
  return statements.map((_, index) => index + 1).filter((number) => !places[number - 1]);
}

function reference(number, { tasks }, exact) {
  const words = `Statement ${number} rests on ${plural(tasks.length, "task")}${exact ? "" : "; it is said here in other words"}`;
  return h("a", { class: "rests", href: here({ statement: number }), data: { statement: number }, "aria-label": words }, String(number));
}

function restsOn({ tasks: ids, text }, number, tasks) {
  return [
    h("span", { class: "quiet small" }, `Statement ${number} rests on`),
    ids.map((id) => h("span", { class: "rests-on" }, tasks.to(id), h("span", { class: "quiet small" }, ` ${id}`))),
    !ids.length && h("span", {}, "no task that delivered"),
    h("span", { class: "quiet small said" }, `“${text}”`),
  ];
}

/** Statements that do not stand in the answer, in words near enough to find them. */
function elsewhere(numbers, statements, tasks) {
  return h("details", { class: "unplaced" },
    h("summary", {}, `${plural(numbers.length, "statement")} in other words than the answer's`),
    h("ul", {}, numbers.map((number) => h("li", { data: { statement: number }, tabindex: "-1" }, statements[number - 1].text, " ", h("span", { class: "quiet small" }, "rests on "), tasks.toAll(statements[number - 1].tasks)))));
}

function rejected({ answer, errors }) {
  const details = h("details", { class: "panel" }, h("summary", {}, h("h2", {}, "An answer that was turned down"), h("span", { class: "quiet" }, plural(errors.length, "flaw"))),
    h("ul", {}, errors.map(({ code, detail }) => h("li", {}, h("code", {}, code), ` ${detail}`))));
  details.addEventListener("toggle", () => details.append(h("p", { class: "notice" }, "Nothing vouches for what it says."), h("div", { class: "prose" }, markdown(answer))), { once: true });
  return details;
}

/** Data other than findings; the tasks that a value comes from stand beside it. */
function dataOf(data, sources, tasks) {
  if (data === null) return null;
  const places = new Map(sources.map(({ pointer, tasks: ids }) => [pointer, ids]));
  const noteOf = (pointer) => (places.has(pointer) ? h("span", { class: "quiet small" }, " from ", tasks.toAll(places.get(pointer))) : null);
  const tree = jsonTree(data, { name: "Data of the result", noteOf });
  if (!holdsFindings(data)) return h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Data"), copying("Copy as JSON", () => JSON.stringify(data, null, 2))), tree);
  return h("details", { class: "panel" }, h("summary", {}, h("h2", {}, "Data")), tree);
}

function besides(result, tasks) {
  const { conflicts = [], gaps = [], assumptions = [], coverage = null, review = null, selection = null } = result;
  return h("aside", { class: "panel besides", "aria-label": "What stands beside the answer" },
    standingOf(result),
    coverage && coverageOf(coverage, tasks),
    gapsOf(gaps, tasks),
    conflictsOf(conflicts, tasks),
    coverage && !gaps.length && !conflicts.length && h("p", { class: "quiet" }, "Nothing is missing, and no results contradict each other."),
    assumptionsOf(assumptions, tasks),
    selection && selectionOf(selection, tasks),
    review && reviewOf(review));
}

function actions({ answer }) {
  return h("div", { class: "row" }, copying("Copy as Markdown", () => answer), h("button", { on: { click: () => print() } }, "Print"));
}

function copying(words, text) {
  return h("button", { on: { click: async () => {
    await navigator.clipboard.writeText(text());
    announce("It is in the clipboard.");
  } } }, words);
}

/** Show what the address has chosen. */
function choose(element, card, statement, conflict) {
  for (const chosen of element.querySelectorAll("[data-chosen]")) chosen.removeAttribute("data-chosen");
  card.hide();
  const place = statement && element.querySelector(`.rests[data-statement="${CSS.escape(statement)}"], li[data-statement="${CSS.escape(statement)}"]`);
  const opened = place?.closest("details");
  if (opened) opened.open = true;
  if (place) {
    for (const span of element.querySelectorAll(`.stated[data-statements~="${CSS.escape(statement)}"]`)) set(span, { data: { chosen: "" } });
    if (place.matches(".rests")) card.show(Number(statement));
    else set(place, { data: { chosen: "" } });
    place.scrollIntoView({ block: "center" });
  }
  const settled = conflict && element.querySelector(`[data-conflict="${CSS.escape(conflict)}"]`);
  if (!settled) return;
  set(settled, { data: { chosen: "" } });
  settled.scrollIntoView({ block: "nearest" });
}
