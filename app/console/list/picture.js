/** A run's tasks as a small picture: a cell each, by state, in the order in which the plan lets them be done. */

import { s, set } from "../dom.js";
import { plural } from "../format.js";

const ORDER = ["succeeded", "failed", "skipped", "cancelled", "running", "waiting", "pending"];
const ROWS = 3;
const CELLS_OF_LEVEL = 9;
const LEVELS_AT_MOST = 9;
const CELL = 8;
const STEP = 10;
const BETWEEN = 8;
const BAR = 14;
const HEIGHT = ROWS * STEP;

/** An empty picture. */
export function picture() {
  return s("svg", { class: "picture", role: "img", height: HEIGHT });
}

/** Draw a run, as a list with `include=levels` has it, unless it is drawn already. */
export function draw(svg, { progress, levels }) {
  const said = inWords(progress.tasks);
  const told = JSON.stringify(levels) + said;
  if (svg.told === told) return;
  svg.told = told;
  const parts = [];
  let x = 0;
  for (const counts of levels && levels.length <= LEVELS_AT_MOST ? levels : [progress.tasks]) {
    if (x) parts.push(s("path", { class: "way", d: `M${x + 1} ${HEIGHT / 2}h${BETWEEN - 2}` }));
    x += x && BETWEEN;
    const [width, drawn] = level(counts, x);
    parts.push(...drawn);
    x += width;
  }
  const width = Math.max(x, 1);
  set(svg, { "aria-label": said, width, viewBox: `0 0 ${width} ${HEIGHT}` });
  svg.replaceChildren(s("title", {}, said), ...parts);
}

/** `5 tasks: 3 succeeded, 2 running`. */
export function inWords(counts) {
  if (!counts.total) return "No tasks yet";
  const parts = ORDER.filter((state) => counts[state]).map((state) => `${counts[state]} ${state}`);
  return `${plural(counts.total, "task")}: ${parts.join(", ")}`;
}

/** Tasks that may be done at the same time: cells, or shares of a bar where they are many. Gives the width, too. */
function level(counts, x) {
  const states = ORDER.flatMap((state) => Array(counts[state] ?? 0).fill(state));
  if (states.length > CELLS_OF_LEVEL) return [BAR, shares(counts, states.length, x)];
  const columns = Math.ceil(states.length / ROWS);
  const rows = Math.ceil(states.length / Math.max(columns, 1));
  const top = (HEIGHT - rows * STEP) / 2 + 1;
  const place = (index) => [x + Math.floor(index / rows) * STEP + 1, top + (index % rows) * STEP];
  return [columns * STEP, states.map((state, index) => cell(state, ...place(index)))];
}

// Each state has a form of its own, so that colour is not all that tells them apart.
const STROKES = {
  failed: "M0 0 8 8M8 0 0 8",
  skipped: "M0 4H8",
  cancelled: "M0 8 8 0",
  running: "M.75.75h6.5v6.5h-6.5zM.75.75v6.5h3.2v-6.5z",
  waiting: "M.75.75h6.5v6.5h-6.5zM.75 5.4h6.5v1.85h-6.5z",
  pending: "M.75.75h6.5v6.5h-6.5z",
};

function cell(state, x, y) {
  const data = { state };
  if (state === "succeeded") return s("rect", { data, class: "full", x, y, width: CELL, height: CELL, rx: 1.5 });
  return s("path", { data, d: STROKES[state], transform: `translate(${x} ${y})` });
}

function shares(counts, total, x) {
  let y = 1;
  return ORDER.filter((state) => counts[state]).map((state) => {
    const height = (counts[state] / total) * (HEIGHT - 2);
    const shape = { x: x + 1, y, width: BAR - 2, height };
    y += height;
    return s("rect", { data: { state }, class: state === "pending" ? null : "full", ...shape });
  });
}
