/** The plan as a graph that fills: who does what, how far each is, and what waits for what. */

import { h, say, set } from "../dom.js";
import { plural } from "../format.js";
import { here } from "../router.js";
import { childrenView } from "./children.js";
import { graphDrawing } from "./drawing.js";
import { graphOf } from "./graph_model.js";
import { revisionsView } from "./revisions.js";

const TICK_MS = 1000;
const NOTHING = { attempt: null, call: null, tool: null, event: null };
const LABEL = "The plan as a graph: arrow keys go from task to task, plus and minus change its size";

export function graphView(store) {
  const drawing = graphDrawing(LABEL, (task) => store.select({ ...NOTHING, task }));
  const shape = h("span", { class: "quiet small" });
  const empty = h("p", { class: "empty", hidden: true }, "The run has ended without a plan.");
  const revisions = revisionsView(store);
  const children = childrenView(store);
  const element = h("section", { class: "panel plan", "aria-labelledby": "plan-title" },
    h("header", {}, h("h2", { id: "plan-title" }, "Plan"), shape, drawing.controls),
    revisions.element, empty, drawing.element, children.element);
  const drawn = { seq: -1, query: null, tick: 0, phase: null, like: null, graph: null };
  return { element, draw };

  function draw() {
    const { fold, query, run } = store;
    const tick = Math.floor(Date.now() / TICK_MS);
    const same = drawn.seq === fold.lastSeq && drawn.query === query && drawn.phase === run.phase;
    if (same && (drawn.tick === tick || fold.finishedAt !== null)) return;
    Object.assign(drawn, { seq: fold.lastSeq, query, tick, phase: run.phase });
    const { plan, removed, changes } = revisions.shown();
    revisions.draw();
    children.draw();
    const like = [plan?.revision, removed.length, fold.children.size].join();
    if (drawn.like !== like) Object.assign(drawn, { like, graph: graphOf(plan, fold, { removed }) });
    drawing.show(drawn.graph, contextOf(store, plan, changes));
    drawing.choose(query.get("task"));
    say(shape, plan?.shape ? shapeOf(plan) : "");
    set(empty, { hidden: Boolean(plan) || fold.finishedAt === null });
  }
}

function contextOf({ fold, run }, plan, changes) {
  const planned = new Map((plan?.tasks ?? []).map((task) => [task.id, task]));
  return { fold, phase: run.phase, planned, changes, address, now: Date.now() };
}

function address(id) {
  if (id === "/answer") return here({ ...NOTHING, task: null, view: "answer" });
  return here({ ...NOTHING, task: id === "/plan" ? null : id });
}

function shapeOf({ tasks, shape }) {
  return `${plural(tasks.length, "task")} · ${plural(shape.depth, "step")} · ${shape.width} side by side`;
}
