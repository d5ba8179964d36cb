/** The nodes of the graph as parts of a drawing, and bringing them up to date. */

import { s, say, set } from "../dom.js";
import { clipped } from "./clipped.js";
import { answeringOf, factsOf, marksOf, planningOf, signOf, spokenOf, standingOf, titleOf } from "./graph_words.js";

const TITLE = "600 13px system-ui, sans-serif";
const FACTS = "12px system-ui, sans-serif";
const SIDE = 12;
const HEAD = 58;

/**
 * A node of the graph: `{element, id, update(context)}`.
 *
 * `context` is `{fold, phase, planned, changes, address, now}`; `planned` has the tasks of the plan by id.
 */
export function nodeView(node) {
  if (node.kind === "task") return taskView(node);
  if (node.kind === "bundle") return bundleView(node);
  return endView(node);
}

function taskView(node) {
  const { width, height } = node;
  const sign = s("text", { class: "sign", x: SIDE, y: 23 });
  const title = s("text", { class: "title", x: SIDE + 19, y: 23 });
  const word = s("text", { class: "word", x: SIDE + 19, y: 43 });
  const facts = s("text", { class: "facts", x: width - SIDE, y: 43, "text-anchor": "end" });
  const mark = s("text", { class: "mark", x: width - SIDE, y: 23, "text-anchor": "end" });
  const box = s("rect", { class: "box", width, height, rx: 8 });
  const bar = s("rect", { class: "bar", width: 4, height: height - 16, y: 8, x: 0, rx: 2 });
  const said = [sign, title, word, facts, mark];
  const link = s("a", { class: "node task", tabindex: -1, data: { node: node.id } }, box, bar, said);
  const child = height > HEAD ? childView(node) : null;
  const element = s("g", { class: "place" }, link, child?.element ?? null);
  let drawn = "";
  return { element, link, id: node.id, update };

  function update({ fold, planned, changes, address, now }) {
    const task = fold.tasks.get(node.id);
    const plan = planned.get(node.id) ?? node.task;
    const { state, word: standing } = standingOf(task, fold, now);
    const change = changes?.get(node.id) ?? "";
    const done = factsOf(task, fold, now).join(" · ") || plan.worker;
    const marks = [...marksOf(task), change].filter(Boolean);
    child?.update(task, fold);
    const next = [state, standing, done, marks, address(node.id), titleOf(plan), plan.required].join("|");
    if (next === drawn) return;
    drawn = next;
    set(link, { href: address(node.id), "aria-label": spokenOf(plan, task, fold, marks) });
    const kind = { optional: String(!plan.required), dropped: String(Boolean(task?.dropped)) };
    set(element, { data: { state, change, ...kind } });
    say(sign, signOf(state));
    say(mark, marks.join(" · "));
    say(title, clipped(titleOf(plan), TITLE, width - 3 * SIDE - 16 - widthOf(marks)));
    const room = width - 3 * SIDE - 16;
    const shown = clipped(done, FACTS, room * 0.66);
    say(facts, shown);
    say(word, clipped(standing, FACTS, room - Math.min(room * 0.66, shown.length * 6.2)));
  }
}

function widthOf(marks) {
  return marks.length ? marks.join(" · ").length * 6.4 + 6 : 0;
}

/** The run that does the work of a task, inside it. */
function childView({ id, width }) {
  const text = s("text", { class: "facts", x: SIDE + 8, y: 17 });
  const box = s("rect", { class: "inner", width: width - 16, height: 22, x: 8, y: 1, rx: 5 });
  const place = { transform: `translate(0 ${HEAD - 2})`, data: { node: `${id}/run` } };
  const element = s("a", { class: "node child", tabindex: -1, ...place }, box, text);
  return { element, update };

  function update(task, fold) {
    const run = task?.attempts.findLast((attempt) => attempt.child)?.child;
    const child = fold.children.get(run);
    if (!child) return;
    const words = `${signOf(child.status)} run of ${child.team?.name ?? "a team"}: ${child.status}`;
    set(element, { href: `/console/runs/${run}`, "aria-label": `Open the ${words.slice(2)}` });
    set(element, { data: { state: child.status } });
    say(text, clipped(words, FACTS, width - 44));
  }
}

function endView(node) {
  const { width, height, kind } = node;
  const box = s("rect", { class: "box", width, height, rx: height / 2 });
  const middle = { x: width / 2, "text-anchor": "middle" };
  const name = s("text", { class: "title", y: 17, ...middle }, kind === "plan" ? "Plan" : "Answer");
  const word = s("text", { class: "facts", y: 32, ...middle });
  const link = s("a", { class: "node end", tabindex: -1, data: { node: node.id } }, box, name, word);
  const element = s("g", { class: "place" }, link);
  return { element, link, id: node.id, update };

  function update({ fold, phase, address }) {
    const { state, word: said } = kind === "plan" ? planningOf(fold) : answeringOf(fold, phase);
    set(element, { data: { state } });
    set(link, { href: address(node.id), "aria-label": `${kind === "plan" ? "The plan" : "The answer"}: ${said}` });
    say(word, clipped(`${signOf(state)} ${said}`, FACTS, width - 14));
  }
}

function bundleView(node) {
  const parts = node.members.map((member) => ({ member, view: taskView(member) }));
  for (const { member, view } of parts) view.element.style.transform = `translate(${member.x}px, ${member.y}px)`;
  const frame = s("rect", { class: "frame", width: node.width, height: node.height, rx: 12 });
  const element = s("g", { class: "place bundle" }, frame, ...parts.map(({ view }) => view.element));
  const members = node.members.map(({ id }) => id);
  return { element, id: node.id, members, update: (context) => parts.forEach(({ view }) => view.update(context)) };
}
