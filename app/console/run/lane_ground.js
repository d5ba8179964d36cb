/** What lies behind the lanes: the axis with its ticks, what is broken of it, the waits of the whole run, and now. */

import { h, keep, s, say, set } from "../dom.js";
import { duration } from "../format.js";
import { waitWords } from "./lane_words.js";

const LABEL_PX = 90;

export function laneGround() {
  const ticks = h("div", { class: "lanes-ticks" });
  const axis = h("div", { class: "lanes-axis", "aria-hidden": "true" }, ticks);
  const bands = h("div", { class: "lanes-bands", "aria-hidden": "true" });
  const line = s("path", { class: "lanes-path" });
  const path = s("svg", { class: "lanes-paths", "aria-hidden": "true" }, line);
  const now = h("div", { class: "lanes-now", "aria-hidden": "true" });
  return { axis, bands, path, now, draw };

  /** `places` gives the place of the middle of a row by its key. */
  function draw({ scale, left, right, scrolled, fold, look, places, height }) {
    keep(ticks, scale.ticks(left - LABEL_PX, right + LABEL_PX), {
      key: ({ text }) => text,
      make: ({ text }) => h("span", {}, text),
      change: (element, { x }) => move(element, x),
    });
    const waits = fold.waits.map((wait) => ({ ...wait, name: "wait", to: wait.to ?? look.to }));
    const waitIn = ({ from, to }) => waits.find((wait) => wait.from < to && wait.to > from);
    const broken = scale.breaks.map((each) => ({ ...each, name: "broken", reason: waitIn(each)?.reason ?? "" }));
    keep(bands, [...waits, ...broken], {
      key: ({ name, from }) => `${name} ${from}`,
      make: band,
      change: placed(scale),
    });
    const goesOn = fold.finishedAt === null;
    set(now, { hidden: !goesOn || scale.x(look.to) < scrolled });
    if (goesOn) move(now, scale.x(look.to));
    set(path, { width: scale.width, height });
    set(line, { d: drawnPath(look.path.steps, scale, places) });
  }
}

function move(element, x) {
  element.style.transform = `translateX(${Math.round(x * 10) / 10}px)`;
}

function band({ name, reason }) {
  return h("div", { class: `lanes-band ${name}`, data: { reason } }, h("span", {}));
}

function placed(scale) {
  return (element, { name, from, to, reason }) => {
    element.item = { kind: name, from, to, reason };
    const x = scale.x(from);
    const width = Math.max(scale.x(to) - x, 2);
    set(element, { style: { width: `${width}px` } });
    move(element, x);
    const words =
      name === "broken"
        ? duration(to - from)
        : width > LABEL_PX
          ? `${waitWords({ reason })}, ${duration(to - from)}`
          : "";
    say(element.firstChild, words);
  };
}

/** A line along what bounded the run: through its tasks, and down from one to the next. */
function drawnPath(steps, scale, places) {
  const points = [];
  for (const { kind, task, from, to } of steps) {
    const y = places.get(kind === "task" ? `task:${task}` : `supervisor:${kind}`);
    if (kind === "wait" || y === undefined) continue;
    points.push([scale.x(from), y], [scale.x(to), y]);
  }
  return points
    .map(([x, y], index) => {
      const before = points[index - 1];
      if (!before) return `M${x.toFixed(1)} ${y}`;
      return before[1] === y ? `H${x.toFixed(1)}` : `H${x.toFixed(1)} V${y}`;
    })
    .join(" ");
}
