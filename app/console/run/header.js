/** The head of a run's page: what is to be achieved, how it stands, what it has taken, what can be done about it. */

import { fill, h, say, set } from "../dom.js";
import { hasEnded, moment, SIGNS, stateOf } from "../format.js";
import { actionsView } from "./actions.js";
import { connectionView } from "./connection.js";
import { figuresView } from "./figures.js";
import { receiptView } from "./receipt.js";

const FOLDED_CHARACTERS = 240;
const TICK_MS = 1000;
const ORIGINS = { retry: "Retry of", fork: "Fork of", resynthesis: "Another answer from the results of" };

export function headerView(store) {
  const state = h("p", { class: "state large" });
  const wrong = h("div");
  const parts = [figuresView(store), actionsView(store), receiptView(store), connectionView(store)];
  const [figures, actions, receipt, connection] = parts;
  const element = h("header", { class: "panel run-head" },
    h("div", { class: "head-line" },
      h("div", { class: "stack" }, comesFrom(store.run), objectiveOf(store.run)), actions.element),
    h("div", { class: "standing" }, state, about(store.run)),
    figures.element, wrong, receipt.element, connection.element);
  const drawn = { look: "", error: undefined };
  const timer = setInterval(() => hasEnded(store.now) || document.hidden || store.changed(), TICK_MS);
  store.signal.addEventListener("abort", () => clearInterval(timer));
  return { element, draw };

  function draw() {
    const { now, run } = store;
    const look = `${now.status}|${stateOf(now)}`;
    if (look !== drawn.look) {
      drawn.look = look;
      say(state, `${SIGNS[now.status]} ${stateOf(now)}`);
      set(element, { data: { state: now.status } });
    }
    if (run.error !== drawn.error && JSON.stringify(run.error) !== JSON.stringify(drawn.error)) {
      drawn.error = run.error;
      fill(wrong, run.error && h("div", { class: "failure" },
        h("p", {}, run.error.message), h("p", { class: "quiet small" }, run.error.code)));
    }
    for (const part of parts) part.draw();
  }
}

/** The whole objective; of a long one the beginning, and the rest when it is asked for. */
function objectiveOf({ objective }) {
  if (objective.length <= FOLDED_CHARACTERS) return h("h1", {}, objective);
  const cut = objective.lastIndexOf(" ", FOLDED_CHARACTERS);
  const short = `${objective.slice(0, cut > FOLDED_CHARACTERS / 2 ? cut : FOLDED_CHARACTERS)}…`;
  const title = h("h1", {}, short);
  const whole = h("div", { class: "objective", hidden: true }, objective);
  const folded = { class: "plain", "aria-expanded": "false" };
  const more = h("button", { type: "button", ...folded, on: { click } }, "Show all of it");
  return [title, whole, h("div", {}, more)];

  function click() {
    set(whole, { hidden: !whole.hidden });
    set(more, { "aria-expanded": String(!whole.hidden) });
    say(more, whole.hidden ? "Show all of it" : "Show less");
  }
}

/** Whose part it is, or what it was made from. */
function comesFrom({ parent, parent_task: task, origin, schedule }) {
  const link = (run, query = "") => h("a", { href: `/console/runs/${run}${query}` }, run);
  return h("p", { class: "quiet small from" },
    parent && ["Part of ", link(parent, `?task=${task.task}&attempt=${task.attempt}`), `, for its task ${task.task}`],
    origin && [`${ORIGINS[origin.kind]} `, link(origin.run)],
    schedule && `From the schedule ${schedule.id}`);
}

function about(run) {
  const { name, version } = run.team;
  const labels = Object.entries(run.metadata);
  return h("p", { class: "row small about" },
    h("span", {}, "Team ", h("a", { href: `/console/teams/${name}?version=${version}` }, `${name}@${version}`)),
    h("span", {}, "Created ", h("time", { datetime: run.created_at }, moment(run.created_at))),
    h("code", { class: "quiet" }, run.id),
    run.limits.dry_run && h("span", { class: "chip" }, "only planned"),
    labels.map(([label, value]) => h("span", { class: "chip" }, `${label}: ${value}`)));
}
