/** A run's tasks as a small picture: a cell each, by state; a bar of shares where there are too many for cells. */

import { s, set } from "../dom.js";
import { plural } from "../format.js";

const ORDER = ["succeeded", "failed", "skipped", "cancelled", "running", "waiting", "pending"];
const ROWS = 3;
const CELLS_AT_MOST = 36;
const CELL = 8;
const STEP = 10;
const BAR = 120;

/** The picture of these counts (`progress.tasks` of a run). */
export function picture() {
  return s("svg", { class: "picture", role: "img" });
}

/** Draw the counts, unless they are drawn already. */
export function draw(svg, counts) {
  const said = inWords(counts);
  if (svg.getAttribute("aria-label") === said) return;
  const states = ORDER.flatMap((state) => Array(counts[state] ?? 0).fill(state));
  const [width, parts] = states.length > CELLS_AT_MOST ? [BAR, shares(counts)] : cells(states);
  const height = Math.min(states.length || 1, ROWS) * STEP;
  set(svg, { "aria-label": said, width, height, viewBox: `0 0 ${width} ${height}` });
  svg.replaceChildren(s("title", {}, said), ...parts);
}

/** `5 tasks: 3 succeeded, 2 running`. */
export function inWords(counts) {
  if (!counts.total) return "No tasks yet";
  const parts = ORDER.filter((state) => counts[state]).map((state) => `${counts[state]} ${state}`);
  return `${plural(counts.total, "task")}: ${parts.join(", ")}`;
}

function cells(states) {
  const rows = Math.min(states.length, ROWS) || 1;
  const place = (index) => ({ x: Math.floor(index / rows) * STEP + 1, y: (index % rows) * STEP + 1 });
  return [Math.max(1, Math.ceil(states.length / rows)) * STEP, states.map((state, index) => cell(state, place(index)))];
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

function cell(state, { x, y }) {
  const data = { state };
  if (state === "succeeded") return s("rect", { data, class: "full", x, y, width: CELL, height: CELL, rx: 1.5 });
  return s("path", { data, d: STROKES[state], transform: `translate(${x} ${y})` });
}

function shares(counts) {
  let x = 0;
  return ORDER.filter((state) => counts[state]).map((state) => {
    const width = (counts[state] / counts.total) * BAR;
    const part = s("rect", { data: { state }, class: state === "pending" ? null : "full", x, y: 4, width, height: 18 });
    x += width;
    return part;
  });
}
