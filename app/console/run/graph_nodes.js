/** The nodes of the graph as parts of a drawing, and bringing them up to date. */

import { s, say, set } from "../dom.js";
import { clipped, widthOf } from "./clipped.js";
import { answeringOf, marksOf, planningOf, signOf, spokenOf, standingOf, takenOf, titleOf } from "./graph_words.js";

const TITLE = "600 13px system-ui, sans-serif";
const FACTS = "12px system-ui, sans-serif";
const SIDE = 12;
const TEXT = 31;
const GAP = 8;
const HEAD = 68;

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
  const text = (kind, y, end) =>
    s("text", { class: kind, y, x: end ? width - SIDE : TEXT, "text-anchor": end ? "end" : null });
  const sign = s("text", { class: "sign", x: SIDE, y: 22 });
  const [title, mark] = [text("title", 22), text("mark", 22, true)];
  const [word, taken] = [text("word", 41), text("facts", 41, true)];
  const [worker, attempts] = [text("facts", 58), text("facts", 58, true)];
  const box = s("rect", { class: "box", width, height, rx: 8 });
  const bar = s("rect", { class: "bar", width: 4, height: height - 16, y: 8, x: 0, rx: 2 });
  const said = [sign, title, mark, word, taken, worker, attempts];
  const link = s("a", { class: "node task", tabindex: -1, data: { node: node.id } }, box, bar, said);
  const child = height > HEAD ? childView(node) : null;
  const element = s("g", { class: "place" }, link, child?.element ?? null);
  const room = width - TEXT - SIDE;
  let drawn = "";
  return { element, link, id: node.id, update };

  function update({ fold, planned, changes, address, now }) {
    const task = fold.tasks.get(node.id);
    const plan = planned.get(node.id) ?? node.task;
    const { state, word: standing } = standingOf(task, fold, now);
    const change = changes?.get(node.id) ?? "";
    const marks = [...marksOf(task), change].filter(Boolean).join(" · ");
    const by = task?.worker ?? plan.worker;
    const tries = task?.attempts.length > 1 ? `attempt ${task.attempts.length}` : "";
    const took = takenOf(task, fold, now);
    child?.update(task, fold);
    const next = [state, standing, took, marks, by, tries, address(node.id), titleOf(plan), plan.required].join("|");
    if (next === drawn) return;
    drawn = next;
    set(link, { href: address(node.id), "aria-label": spokenOf(plan, task, fold, marks ? [marks] : []) });
    const kind = { optional: String(!plan.required), dropped: String(Boolean(task?.dropped)) };
    set(element, { data: { state, change, ...kind } });
    say(sign, signOf(state));
    beside(title, titleOf(plan), TITLE, mark, marks, room);
    beside(word, standing || by, FACTS, taken, took, room);
    beside(worker, standing && by, FACTS, attempts, tries, room);
  }
}

/** Two texts on a line: the one at the end as it is, the other as far as there is room. */
function beside(first, text, font, second, other, room) {
  say(second, other);
  say(first, clipped(text, font, room - (other ? widthOf(other, FACTS) + GAP : 0)));
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
