/** The plan as a graph that fills: who does what, how far each is, and what waits for what. */

import { h, s, say, set, keep } from "../dom.js";
import { plural } from "../format.js";
import { here } from "../router.js";
import { childrenView } from "./children.js";
import { formOf, graphOf } from "./graph_model.js";
import { nodeView } from "./graph_nodes.js";
import { arrows } from "./graph_keys.js";
import { layout } from "./layout.js";
import { revisionsView } from "./revisions.js";
import { viewport } from "./viewport.js";

const TICK_MS = 1000;

export function graphView(store) {
  const lines = s("g", { class: "lines" });
  const places = s("g", { class: "places" });
  const svg = s("svg", { class: "graph", role: "group", "aria-label": "Tasks of the plan" }, lines, places);
  const port = viewport(svg, "The plan as a graph: arrow keys go from task to task, plus and minus change its size");
  const shape = h("span", { class: "quiet small" });
  const empty = h("p", { class: "empty", hidden: true });
  const revisions = revisionsView(store);
  const children = childrenView(store);
  const element = h("section", { class: "panel plan", "aria-labelledby": "plan-title" },
    h("header", {}, h("h2", { id: "plan-title" }, "Plan"), shape, port.controls), revisions.element, empty, port.element, children.element);
  const drawn = { form: null, seq: -1, query: null, tick: 0, streaming: null };
  const shown = { placed: { nodes: new Map(), edges: [] }, views: new Map(), boxes: new Map() };
  arrows(svg, shown, port);
  svg.addEventListener("click", (event) => chosen(event, store));
  for (const [on, near] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    svg.addEventListener(on, (event) => highlighted(event.target.closest?.(".task")?.dataset.node, near));
  }
  return { element, draw };

  function draw() {
    const { fold, query } = store;
    const tick = Math.floor(Date.now() / TICK_MS);
    const same = drawn.seq === fold.lastSeq && drawn.query === query && drawn.streaming === store.streaming;
    if (same && (drawn.tick === tick || fold.finishedAt !== null)) return;
    const selected = drawn.query !== query;
    Object.assign(drawn, { seq: fold.lastSeq, query, tick, streaming: store.streaming });
    const { plan, removed, changes } = revisions.shown();
    revisions.draw();
    children.draw();
    place(plan, removed);
    const address = addressOf();
    const planned = new Map((plan?.tasks ?? []).map((task) => [task.id, task]));
    const context = { fold, phase: store.run.phase, planned, changes, address, now: Date.now() };
    for (const view of shown.views.values()) view.update(context);
    live(fold);
    if (selected) choose(query.get("task"));
    say(shape, plan?.shape ? shapeOf(plan) : "");
    set(empty, { hidden: Boolean(plan) || fold.finishedAt === null });
    say(empty, "The run has ended without a plan.");
  }

  function place(plan, removed) {
    const graph = graphOf(plan, store.fold, { removed });
    const form = formOf(graph);
    if (form === drawn.form) return;
    drawn.form = form;
    redraw(graph);
  }

  function redraw(graph) {
    shown.placed = layout(graph.nodes, graph.edges);
    const { nodes, edges, width, height } = shown.placed;
    keep(places, graph.nodes, {
      key: (node) => `${node.id} ${node.height} ${node.members?.length ?? ""}`,
      make: (node) => {
        const view = nodeView(node);
        view.element.view = view;
        return view.element;
      },
      change: (part, node) => {
        const { x, y } = nodes.get(node.id);
        part.style.transform = `translate(${x}px, ${y}px)`;
      },
    });
    shown.views = new Map([...places.children].map((part) => [part.view.id, part.view]));
    shown.boxes = boxesOf(graph, nodes);
    keep(lines, edges, {
      key: ({ from, to }) => JSON.stringify([from, to]),
      make: ({ from, to }) => s("path", { class: "line", data: { from, to } }),
      change: (path, { points }) => set(path, { d: curve(points) }),
    });
    port.resize(width, height);
    if (!svg.querySelector(".node[tabindex='0']")) set(svg.querySelector(".node"), { tabindex: 0 });
  }

  /** Lines show where results have gone, and where they are at work. */
  function live(fold) {
    for (const path of lines.children) {
      const [from, to] = [fold.tasks.get(path.dataset.from), fold.tasks.get(path.dataset.to)];
      const flows = path.dataset.from.startsWith("/") || from?.status === "succeeded";
      const state = to?.status === "running" && flows ? "running" : flows && to?.attempts.length ? "done" : "";
      if (path.dataset.flow !== state) path.dataset.flow = state;
    }
  }

  function choose(task) {
    for (const link of svg.querySelectorAll(".node[aria-current]")) link.removeAttribute("aria-current");
    const link = task && svg.querySelector(`.task[data-node="${CSS.escape(task)}"]`);
    if (!link) return;
    link.setAttribute("aria-current", "true");
    for (const each of svg.querySelectorAll(".node[tabindex='0']")) set(each, { tabindex: -1 });
    set(link, { tabindex: 0 });
    port.reveal(shown.boxes.get(task));
  }

  function highlighted(task, near) {
    if (!task) return;
    for (const path of lines.children) {
      if (path.dataset.from === task || path.dataset.to === task) path.classList.toggle("near", near);
    }
  }
}

/** Where each task stands, those in blocks too. */
function boxesOf(graph, nodes) {
  const boxes = new Map();
  for (const node of graph.nodes) {
    const box = nodes.get(node.id);
    if (!node.members) boxes.set(node.id, box);
    for (const each of node.members ?? []) boxes.set(each.id, { ...each, x: box.x + each.x, y: box.y + each.y, layer: box.layer });
  }
  return boxes;
}

function addressOf() {
  const nothing = { attempt: null, call: null, tool: null, event: null };
  return (id) => {
    if (id === "/answer") return here({ ...nothing, task: null, view: "answer" });
    if (id === "/plan") return here({ ...nothing, task: null });
    return here({ ...nothing, task: id });
  };
}

/** Follow a link to a task as a selection, so that the page stays as it is. */
function chosen(event, store) {
  const id = event.target.closest?.(".task")?.dataset.node;
  if (!id || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  store.select({ task: id, attempt: null, call: null, tool: null, event: null });
}

function shapeOf({ tasks, shape }) {
  return `${plural(tasks.length, "task")} · ${plural(shape.depth, "step")} · ${shape.width} side by side`;
}

function curve(points) {
  const [[x, y], ...rest] = points;
  let [fromX, fromY] = [x, y];
  const parts = rest.map(([toX, toY], index) => {
    const middle = (fromX + toX) / 2;
    const part = index % 2 ? `L${toX} ${toY}` : `C${middle} ${fromY} ${middle} ${toY} ${toX} ${toY}`;
    [fromX, fromY] = [toX, toY];
    return part;
  });
  return `M${x} ${y}${parts.join("")}`;
}
