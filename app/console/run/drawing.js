/** A drawing of a graph: placed anew when its form changes, brought up to date whenever it is asked to. */

import { keep, s, set } from "../dom.js";
import { arrows } from "./graph_keys.js";
import { formOf } from "./graph_model.js";
import { nodeView } from "./graph_nodes.js";
import { layout } from "./layout.js";
import { viewport } from "./viewport.js";

/** `{element, controls, show(graph, context), choose(id)}`; `onChoose(id)` is told of a task that somebody clicks. */
export function graphDrawing(label, onChoose) {
  const lines = s("g", { class: "lines" });
  const places = s("g", { class: "places" });
  const svg = s("svg", { class: "graph", role: "group", "aria-label": "Tasks of the plan" }, lines, places);
  const port = viewport(svg, label);
  const shown = { placed: { nodes: new Map(), edges: [] }, views: new Map(), boxes: new Map() };
  let seen = null;
  let form = null;
  let chosen = null;
  arrows(svg, shown, port);
  svg.addEventListener("click", clicked);
  for (const [on, near] of [["pointerover", true], ["pointerout", false], ["focusin", true], ["focusout", false]]) {
    svg.addEventListener(on, (event) => highlight(event.target.closest?.(".task")?.dataset.node, near));
  }
  return { element: port.element, controls: port.controls, show, choose };

  function show(graph, context) {
    if (graph !== seen) {
      seen = graph;
      const next = formOf(graph);
      if (next !== form) redraw(graph);
      form = next;
    }
    for (const view of shown.views.values()) view.update(context);
    flow(context.fold);
  }

  function redraw(graph) {
    shown.placed = layout(graph.nodes, graph.edges);
    const { nodes, edges, width, height } = shown.placed;
    keep(places, graph.nodes, {
      key: (node) => JSON.stringify([node.id, node.height, node.members?.map(({ id }) => id)]),
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
    mark();
  }

  /** Lines show where results have gone, and where they are at work. */
  function flow(fold) {
    for (const path of lines.children) {
      const [from, to] = [fold.tasks.get(path.dataset.from), fold.tasks.get(path.dataset.to)];
      const flows = path.dataset.from.startsWith("/") || from?.status === "succeeded";
      const state = to?.status === "running" && flows ? "running" : flows && to?.attempts.length ? "done" : "";
      if (path.dataset.flow !== state) path.dataset.flow = state;
    }
  }

  /** Show that a task is chosen; null for none. */
  function choose(id) {
    if (id === chosen) return;
    chosen = id;
    mark();
  }

  function mark() {
    for (const link of svg.querySelectorAll(".node[aria-current]")) link.removeAttribute("aria-current");
    const link = chosen && svg.querySelector(`.task[data-node="${CSS.escape(chosen)}"]`);
    if (!link) return;
    for (const each of svg.querySelectorAll(".node[tabindex='0']")) set(each, { tabindex: -1 });
    set(link, { tabindex: 0, "aria-current": "true" });
    port.reveal(shown.boxes.get(chosen));
  }

  function highlight(task, near) {
    if (!task) return;
    for (const path of lines.children) {
      if (path.dataset.from === task || path.dataset.to === task) path.classList.toggle("near", near);
    }
  }

  /** A link to a task is followed as a selection, so that the page stays as it is. */
  function clicked(event) {
    const id = event.target.closest?.(".task")?.dataset.node;
    if (!id || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    onChoose(id);
  }
}

/** Where each task stands, those in blocks too. */
function boxesOf(graph, nodes) {
  const boxes = new Map();
  for (const node of graph.nodes) {
    const box = nodes.get(node.id);
    if (!node.members) boxes.set(node.id, box);
    for (const each of node.members ?? []) {
      boxes.set(each.id, { ...each, x: box.x + each.x, y: box.y + each.y, layer: box.layer });
    }
  }
  return boxes;
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
