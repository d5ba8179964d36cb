/** Charts, drawn as SVG. A chart says its values by pointer and by arrow keys; the table beside it says them all. */

import { fill, h, s, say, set } from "./dom.js";

const HEIGHT = 220;
const SPACE = { top: 12, right: 8, bottom: 26, left: 58 };
const LABEL_WIDTH = 64;
const STRIDES = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -7, PageUp: 7 };
const STEPS = [1, 2, 2.5, 5, 10];

/** Round numbers from 0 to at least `highest`, `most` steps at most; of whole things no half ones. */
export function ticksTo(highest, { most = 4, whole = false } = {}) {
  const span = highest > 0 ? highest : whole ? most : 1;
  const power = 10 ** Math.floor(Math.log10(span / most));
  const enough = span * (1 - 1e-9);
  const steps = STEPS.map((each) => each * power).filter((each) => !whole || Number.isInteger(each));
  const step = steps.find((each) => each * most >= enough) ?? Math.max(whole ? 1 : 0, 10 * power);
  const ticks = [0];
  while (ticks.at(-1) < enough) ticks.push(Number((ticks.length * step).toPrecision(12)));
  return ticks;
}

/** Every how many bars there is room for a label. */
export function labelsEvery(bars, width) {
  return Math.max(1, Math.ceil((bars * LABEL_WIDTH) / Math.max(width, LABEL_WIDTH)));
}

/**
 * Bars side by side, each a pile of parts. `series` are `{name, kind}`, `kind` gives the colour; `bars` are
 * `{name, label, parts}` with a number for each series; `format(number)` writes a value, and `tick` one at the axis;
 * `whole` is for things that are counted.
 */
export function barChart({ label, series, bars, format, tick = format, whole = false }) {
  const drawing = s("svg", { "aria-hidden": "true", height: HEIGHT });
  const readout = h("p", { class: "readout numbers" });
  const last = bars.length - 1;
  const plot = h("div", {
    class: "plot", role: "slider", tabindex: "0", "aria-label": label, "aria-orientation": "horizontal",
    "aria-valuemin": 1, "aria-valuemax": Math.max(1, bars.length),
    on: {
      keydown: keyed, pointermove: pointed, pointerleave: () => choose(last, false),
      focus: () => choose(chosen, true), blur: () => choose(chosen, false),
    },
  }, drawing);
  const legend = series.length > 1
    && h("ul", { class: "legend" }, series.map(({ name, kind }) => h("li", { data: { kind } }, name)));
  const element = h("div", { class: "chart" }, readout, plot, legend);
  let chosen = last;
  let width = 0;
  new ResizeObserver(([{ contentRect }]) => {
    if (Math.round(contentRect.width) === width) return;
    width = Math.round(contentRect.width);
    draw();
  }).observe(plot);
  choose(chosen, false);
  return element;

  function draw() {
    const inner = width - SPACE.left - SPACE.right;
    if (inner <= 0) return;
    const room = HEIGHT - SPACE.top - SPACE.bottom;
    const ticks = ticksTo(Math.max(0, ...bars.map(totalOf)), { whole });
    const y = (value) => SPACE.top + room * (1 - value / ticks.at(-1));
    set(drawing, { width, viewBox: `0 0 ${width} ${HEIGHT}` });
    fill(drawing,
      ticks.map((value) => axisLine(value, y(value), width, tick)),
      bars.map((bar, index) => pile(bar, index, { step: inner / bars.length, y, series })),
      labelsOf(bars, inner));
    choose(chosen, document.activeElement === plot);
  }

  function choose(index, marked) {
    chosen = Math.max(0, Math.min(last, index));
    const bar = bars[chosen];
    if (!bar) return;
    const parts = series.map(({ name }, at) => `${name} ${format(bar.parts[at])}`);
    say(readout, [bar.name, format(totalOf(bar)), ...(parts.length > 1 ? [parts.join(", ")] : [])].join(" · "));
    set(plot, { "aria-valuenow": chosen + 1, "aria-valuetext": readout.textContent });
    drawing.querySelector(".pile.chosen")?.classList.remove("chosen");
    if (marked) drawing.querySelectorAll(".pile")[chosen]?.classList.add("chosen");
  }

  function pointed({ clientX }) {
    const inner = width - SPACE.left - SPACE.right;
    choose(Math.floor(((clientX - plot.getBoundingClientRect().left - SPACE.left) / inner) * bars.length), true);
  }

  function keyed(event) {
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : chosen + (STRIDES[event.key] ?? NaN);
    if (Number.isNaN(to)) return;
    event.preventDefault();
    choose(to, true);
  }
}

function totalOf({ parts }) {
  return parts.reduce((sum, part) => sum + part, 0);
}

function axisLine(value, at, width, tick) {
  return [
    s("line", { class: "axis", x1: SPACE.left, x2: width - SPACE.right, y1: at, y2: at }),
    s("text", { x: SPACE.left - 8, y: at + 4, "text-anchor": "end" }, tick(value)),
  ];
}

function pile({ parts }, index, { step, y, series }) {
  const left = SPACE.left + index * step;
  const gap = step > 6 ? Math.min(6, step * 0.2) : step > 3 ? 1 : 0;
  let below = 0;
  return s("g", { class: "pile" },
    s("rect", { class: "behind", x: left, y: SPACE.top, width: step, height: y(0) - SPACE.top }),
    parts.map((part, at) => {
      const top = y(below + part);
      const bar = part > 0 && s("rect", {
        data: { kind: series[at].kind }, x: left + gap / 2, y: Math.min(top, y(below) - 1),
        width: Math.max(1, step - gap), height: Math.max(1, y(below) - top),
      });
      below += part;
      return bar;
    }));
}

function labelsOf(bars, inner) {
  const every = labelsEvery(bars.length, inner);
  const step = inner / bars.length;
  return bars.map(({ label }, index) => (bars.length - 1 - index) % every === 0 && s("text", {
    x: Math.min(SPACE.left + (index + 0.5) * step, SPACE.left + inner - 18), y: HEIGHT - 8, "text-anchor": "middle",
  }, label));
}
