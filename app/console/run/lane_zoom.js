/** How much of the time the lanes show: all of it, its end, or what somebody has zoomed into. */

import { h, set } from "../dom.js";
import { Axis, scaleToFit } from "./axis.js";

const STEP = 1.6;
const MOST = 2;
const LONGEST_PX = 6_000_000;
const DRAGGED_PX = 5;

export class Zoom {
  /** `fit` shows all, `follow` keeps the end in sight, `free` stays where it is. */
  mode = "fit";
  #scale = null;
  #time = null;
  #width = 0;

  /** The axis for the time that there is to show, in a window of this width. */
  axis(time, width) {
    this.#time = time;
    this.#width = width;
    const fit = scaleToFit(time, width);
    if (this.mode === "fit" || this.#scale === null) this.#scale = fit;
    this.#scale = this.#bounded(this.#scale);
    return new Axis(time, this.#scale);
  }

  #bounded(scale) {
    const fit = scaleToFit(this.#time, this.#width);
    const most = Math.max(fit, Math.min(MOST, (LONGEST_PX * fit) / Math.max(this.#width, 1)));
    return Math.min(Math.max(scale, fit), most);
  }

  /** Zoom in (above 1) or out; all the way out is `fit`. */
  by(factor) {
    const fit = scaleToFit(this.#time, this.#width);
    this.#scale = this.#bounded(this.#scale * factor);
    if (this.#scale <= fit) this.mode = "fit";
    else if (this.mode === "fit") this.mode = "free";
  }

  /** Have so many milliseconds of what is busy fill the window. */
  over(ms) {
    this.mode = "free";
    this.#scale = this.#bounded(this.#width / Math.max(ms, 1));
  }

  follow() {
    const fit = scaleToFit(this.#time, this.#width);
    if (this.#scale <= fit) this.#scale = this.#bounded(fit * 4);
    this.mode = "follow";
  }
}

/** The buttons for it. `zoomed(change)` is given what to do with the zoom. */
export function zoomButtons(zoomed) {
  const button = (text, name, act) =>
    h("button", { type: "button", "aria-label": name, title: name, on: { click: () => zoomed(act) } }, text);
  const fit = button("All", "Show all of it", (zoom) => (zoom.mode = "fit"));
  const follow = button("Follow", "Keep the end in sight", (zoom) =>
    zoom.mode === "follow" ? (zoom.mode = "free") : zoom.follow(),
  );
  const element = h("div", { class: "row zoom", role: "group", "aria-label": "Zoom" },
    button("−", "Zoom out", (zoom) => zoom.by(1 / STEP)),
    button("+", "Zoom in", (zoom) => zoom.by(STEP)),
    fit,
    follow,
  );
  const draw = (mode, goesOn) => {
    set(fit, { "aria-pressed": String(mode === "fit") });
    set(follow, { "aria-pressed": String(mode === "follow"), hidden: !goesOn });
  };
  return { element, draw };
}

/** What a key does to the zoom; undefined for one that does nothing. */
export const ZOOM_KEYS = {
  "+": (zoom) => zoom.by(STEP),
  "=": (zoom) => zoom.by(STEP),
  "-": (zoom) => zoom.by(1 / STEP),
  0: (zoom) => (zoom.mode = "fit"),
};

/** Zoom with the wheel and Ctrl, about the place of the pointer. */
export function zoomByWheel(scroller, zoomed) {
  scroller.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomed((zoom) => zoom.by(Math.exp(-event.deltaY / 300)), event.clientX);
    },
    { passive: false },
  );
}

/** Drag the ground of the lanes to move along the time. */
export function moveByDrag(scroller) {
  let from = null;
  scroller.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button || event.target.closest("button, a, .lanes-axis")) return;
    from = { x: event.clientX, y: event.clientY, left: scroller.scrollLeft, top: scroller.scrollTop };
  });
  scroller.addEventListener("pointermove", (event) => {
    if (!from) return;
    if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < DRAGGED_PX) return;
    scroller.setPointerCapture(event.pointerId);
    scroller.classList.add("dragged");
    scroller.scrollLeft = from.left - (event.clientX - from.x);
    scroller.scrollTop = from.top - (event.clientY - from.y);
  });
  for (const name of ["pointerup", "pointercancel"])
    scroller.addEventListener(name, () => {
      from = null;
      scroller.classList.remove("dragged");
    });
}

/** Drag along the axis to zoom into that stretch; `chosen(left, right)` gets the places in the window. */
export function zoomByDrag(axis, chosen) {
  const mark = h("div", { class: "lanes-range", hidden: true });
  axis.append(mark);
  let from = null;
  const edges = (event) => {
    const { left } = axis.getBoundingClientRect();
    return [Math.min(from, event.clientX) - left, Math.max(from, event.clientX) - left];
  };
  axis.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    from = event.clientX;
    axis.setPointerCapture(event.pointerId);
  });
  axis.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const [left, right] = edges(event);
    set(mark, { hidden: false, style: { left: `${left}px`, width: `${right - left}px` } });
  });
  for (const name of ["pointerup", "pointercancel"])
    axis.addEventListener(name, (event) => {
      const [left, right] = from === null ? [0, 0] : edges(event);
      from = null;
      set(mark, { hidden: true });
      if (name === "pointerup" && right - left > DRAGGED_PX) chosen(left, right);
    });
}
