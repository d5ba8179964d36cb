/**
 * A result as a document. Each statement leads to the tasks it rests on, and beside the text stands what it lacks:
 * conflicts, gaps, coverage, the critic's words. Addresses: `?statement=3`, `?conflict=c1`.
 */

import { copy } from "../clipboard.js";
import { fill, h, set } from "../dom.js";
import { plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { markdown, prose } from "../markdown.js";
import { here } from "../router.js";
import { assumptionsOf, conflictsOf, gapsOf } from "./conflicts.js";
import { coverageOf, reviewOf, selectionOf, standingOf } from "./coverage.js";
import { findingsOf, holdsFindings } from "./findings.js";
import { outputsOf } from "./outputs.js";
import { StatementCard } from "./statement_card.js";
import { mark, placesOf, wordsOf } from "./statements.js";

const NO_ANSWER = "The results could not be put together into one. What each task brought is below.";
const NOTHING_BESIDE = "Nothing is missing, and no results contradict each other.";

/** The page of a result: its `element`, and `choose(statement, conflict)`, which shows one; null for none. */
export function answerPage(store, result, { tasks, isFinal }) {
  const { statements = [], data = null } = result;
  const article = h("div", { class: "prose answer-text", dir: "auto" });
  const card = new StatementCard(article, {
    content: (number) => restsOn(statements[number - 1], number, tasks),
    select: (number) => store.select({ statement: number }, { replace: number === null }),
  });
  const unplaced = result.answer ? write(article, result.answer, statements) : [];
  const text = h("section", { class: "panel document" },
    h("header", {},
      h("h2", {}, result.answer ? "Answer" : "There is no answer"),
      !isFinal && h("span", { class: "chip" }, "not final: the run goes on"), result.answer && actions(result)),
    h("p", { class: "print-only" }, store.run.objective),
    result.answer ? article : h("p", {}, NO_ANSWER),
    unplaced.length > 0 && elsewhere(unplaced, statements, tasks));
  const below = [
    result.rejected_answer && rejected(result.rejected_answer),
    holdsFindings(data) && findingsOf(data, tasks),
    data !== null && dataPanel(data, result.data_sources ?? [], tasks),
    outputsOf(result.outputs ?? [], tasks, { open: !result.answer }),
  ];
  const element = h("div", { class: "answer-page" }, h("div", { class: "stack" }, text, below), besides(result, tasks));
  return { element, choose: (statement, conflict) => choose(element, card, { statement, conflict }) };
}

/** Write the answer, with its statements marked; gives the numbers of those that are not found in it. */
function write(article, answer, statements) {
  fill(article, markdown(answer));
  const words = wordsOf(article);
  const places = placesOf(statements.map(({ text }) => text), words);
  mark(places, words, (number) => reference(number, statements[number - 1], places[number - 1]));
  return statements.map((_, index) => index + 1).filter((number) => !places[number - 1]);
}

function reference(number, { tasks }, { exact }) {
  const words = `Statement ${number} rests on ${plural(tasks.length, "task")}`;
  const label = exact ? words : `${words}; it is said here in other words`;
  const props = { class: "rests", href: here({ statement: number }), data: { statement: number }, "aria-label": label };
  return h("a", props, String(number));
}

function restsOn({ tasks: ids, text }, number, tasks) {
  return [
    h("span", { class: "quiet small" }, `Statement ${number} rests on`),
    ids.map((id) => h("span", {}, tasks.to(id), h("span", { class: "quiet small" }, ` ${id}`))),
    h("span", { class: "quiet small said" }, `“${text}”`),
  ];
}

/** Statements that do not stand in the answer, in words near enough to find them. */
function elsewhere(numbers, statements, tasks) {
  const item = (number) => h("li", { data: { statement: number } },
    statements[number - 1].text, " ", h("span", { class: "quiet small" }, "rests on "),
    tasks.toAll(statements[number - 1].tasks));
  return h("details", { class: "unplaced" },
    h("summary", {}, `${plural(numbers.length, "statement")} in other words than the answer's`),
    h("ul", {}, numbers.map(item)));
}

function rejected({ answer, errors }) {
  const flaws = errors.map(({ code, detail }) => h("li", {}, h("code", {}, code), ` ${detail}`));
  return h("details", { class: "panel" },
    h("summary", {},
      h("h2", {}, "An answer that was turned down"), h("span", { class: "quiet" }, plural(errors.length, "flaw"))),
    h("ul", {}, flaws), h("p", { class: "notice" }, "Nothing vouches for what it says."), prose(answer));
}

/** The data of the result; the tasks that a value comes from stand beside it. */
function dataPanel(data, sources, tasks) {
  const places = new Map(sources.map(({ pointer, tasks: ids }) => [pointer, ids]));
  const noteOf = (pointer) => places.has(pointer)
    && h("span", { class: "quiet small" }, " from ", tasks.toAll(places.get(pointer)));
  const tree = jsonTree(data, { name: "Data of the result", noteOf });
  if (holdsFindings(data)) return h("details", { class: "panel" }, h("summary", {}, h("h2", {}, "Data")), tree);
  const copying = h("button", { on: { click: () => copy(JSON.stringify(data, null, 2)) } }, "Copy as JSON");
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Data"), copying), tree);
}

function besides(result, tasks) {
  const { conflicts = [], gaps = [], assumptions = [], coverage, review, selection } = result;
  return h("aside", { class: "panel besides", "aria-label": "What stands beside the answer" },
    standingOf(result),
    coverage && coverageOf(coverage, tasks),
    gapsOf(gaps, tasks),
    conflictsOf(conflicts, tasks),
    coverage && !gaps.length && !conflicts.length && h("p", { class: "quiet" }, NOTHING_BESIDE),
    assumptionsOf(assumptions, tasks),
    selection && selectionOf(selection, tasks),
    review && reviewOf(review));
}

function actions({ answer }) {
  return h("div", { class: "row" },
    h("button", { on: { click: () => copy(answer) } }, "Copy as Markdown"),
    h("button", { on: { click: () => print() } }, "Print"));
}

/** Show what the address has chosen. */
function choose(element, card, { statement, conflict }) {
  for (const chosen of element.querySelectorAll("[data-chosen]")) chosen.removeAttribute("data-chosen");
  card.hide();
  const found = conflict && element.querySelector(`[data-conflict="${CSS.escape(conflict)}"]`);
  if (found) {
    set(found, { data: { chosen: "" } });
    found.scrollIntoView({ block: "nearest" });
  }
  if (statement) chooseStatement(element, card, CSS.escape(statement));
}

function chooseStatement(element, card, number) {
  const place = element.querySelector(`.rests[data-statement="${number}"]`);
  const listed = element.querySelector(`.unplaced li[data-statement="${number}"]`);
  const stated = element.querySelectorAll(`.stated[data-statements~="${number}"]`);
  for (const span of stated) set(span, { data: { chosen: "" } });
  if (place) card.show(Number(place.dataset.statement));
  if (listed) {
    set(listed, { data: { chosen: "" } });
    listed.closest("details").open = true;
  }
  (place ?? listed)?.scrollIntoView({ block: "center" });
}
