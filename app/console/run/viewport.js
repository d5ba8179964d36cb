/** A drawing that may be larger than its place: it is fitted, zoomed, and scrolled. */

import { h, set } from "../dom.js";

const SMALLEST = 0.3;
const LARGEST = 2;
const READABLE = 0.7;
const STEP = 1.25;
const MARGIN = 12;

/** A place for `svg`: `{element, controls, resize(width, height), reveal(box), zoom(factor), fit()}`. */
export function viewport(svg, label) {
  const element = h("div", { class: "viewport", tabindex: 0, role: "region", "aria-label": label }, svg);
  const size = { width: 0, height: 0 };
  let scale = 1;
  let own = false;
  const controls = h("div", { class: "row zoom", role: "group", "aria-label": "Size of the drawing" },
    button("−", "Smaller", () => zoom(1 / STEP)),
    button("+", "Larger", () => zoom(STEP)),
    button("Fit", "Fit the drawing", fit));
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), event);
  }, { passive: false });
  element.addEventListener("keydown", (event) => {
    const act = { "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), 0: fit }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (own || element.clientWidth === width) return;
    width = element.clientWidth;
    requestAnimationFrame(() => apply(fitting()));
  }).observe(element);
  return { element, controls, resize, reveal, zoom, fit };

  function resize(width, height) {
    Object.assign(size, { width: width + 2 * MARGIN, height: height + 2 * MARGIN });
    set(svg, { viewBox: `${-MARGIN} ${-MARGIN} ${size.width} ${size.height}` });
    apply(own ? scale : fitting());
  }

  /** As wide as there is room, as long as it can be read. */
  function fitting() {
    const room = element.clientWidth || size.width;
    return Math.max(READABLE, Math.min(1, room / (size.width || 1)));
  }

  function fit() {
    own = false;
    const whole = Math.min(element.clientWidth / size.width, element.clientHeight / size.height, 1);
    apply(Math.max(SMALLEST, Math.min(fitting(), whole)));
  }

  function zoom(factor, at = null) {
    own = true;
    const next = Math.min(LARGEST, Math.max(SMALLEST, scale * factor));
    const box = element.getBoundingClientRect();
    const middle = [element.clientWidth / 2, element.clientHeight / 2];
    const [x, y] = at ? [at.clientX - box.left, at.clientY - box.top] : middle;
    const grown = next / scale;
    const [left, top] = [(element.scrollLeft + x) * grown - x, (element.scrollTop + y) * grown - y];
    apply(next);
    element.scrollTo(left, top);
  }

  function apply(next) {
    scale = next;
    set(svg, { width: Math.round(size.width * scale), height: Math.round(size.height * scale) });
  }

  /** Scroll so that a box of the drawing is seen. */
  function reveal({ x, y, width, height }) {
    const [left, top] = [(x + MARGIN) * scale, (y + MARGIN) * scale];
    const near = (from, length, seen, room) => {
      if (from < seen) return from - MARGIN;
      return from + length > seen + room ? from + length - room + MARGIN : seen;
    };
    element.scrollTo(
      near(left, width * scale, element.scrollLeft, element.clientWidth),
      near(top, height * scale, element.scrollTop, element.clientHeight),
    );
  }
}

function button(text, name, click) {
  return h("button", { type: "button", class: "plain", "aria-label": name, title: name, on: { click } }, text);
}
