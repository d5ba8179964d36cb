/**
 * The lanes: what each task and the supervisor did when, on one time axis. A frame draws the rows and the marks that
 * are seen, in the elements that are there.
 */

import { h, say, set } from "../dom.js";
import { duration, hasEnded } from "../format.js";
import { every } from "../frames.js";
import { breaksOf } from "./axis.js";
import { laneGround } from "./lane_ground.js";
import { laneKeys } from "./lane_keys.js";
import { LaneModel } from "./lane_model.js";
import { drawRows, heightOf } from "./lane_rows.js";
import { laneTip } from "./lane_tip.js";
import { Zoom, ZOOM_KEYS, moveByDrag, zoomButtons, zoomByDrag, zoomByWheel } from "./lane_zoom.js";

const NAMES_PX = 208;
const NARROW_NAMES_PX = 84;
const WIDE_NAMES_PX = 320;
const AROUND_PX = 120;
const END_PX = 20;
const TICK_MS = 250;

export function lanesView(store) {
  const model = new LaneModel(store.fold);
  const zoom = new Zoom();
  const ground = laneGround();
  const rows = h("div", { class: "lanes-rows", role: "list", "aria-label": "Lanes" });
  const body = h("div", { class: "lanes-body" }, ground.bands, ground.path, rows, ground.now);
  const corner = h("div", { class: "lanes-corner" });
  const head = h("div", { class: "lanes-head" }, corner, ground.axis);
  const scroller = h("div", { class: "lanes-scroll", role: "region", tabindex: 0, "aria-label": "Lanes over time" },
    head,
    body,
  );
  const buttons = zoomButtons(zoomed);
  const path = h("p", { class: "quiet small numbers" });
  const empty = h("p", { class: "empty" }, "There will be a lane for each task as soon as there is a plan.");
  const element = h("section", { class: "panel lanes", "aria-label": "Lanes" },
    h("header", {}, h("h2", {}, "Lanes"), path, buttons.element),
    scroller,
    empty,
    legend(),
  );
  const view = {
    rows: [],
    look: null,
    scale: null,
    zooms: 0,
    drawn: "",
    time: "",
    shownRow: null,
    itemsOf: (row) => model.items(row, view.look),
  };
  const keys = laneKeys({ scroller, view, reveal });
  laneTip(scroller, element, () => ({ fold: store.fold, now: view.look?.to ?? Date.now() }));
  listen();
  return { element, draw };

  function listen() {
    new ResizeObserver(() => draw()).observe(scroller);
    scroller.addEventListener("scroll", () => draw());
    scroller.addEventListener("keydown", keyed);
    scroller.addEventListener("click", ({ target }) => chooseElement(target.closest("[data-key]")));
    zoomByWheel(scroller, zoomed);
    moveByDrag(scroller);
    zoomByDrag(ground.axis, zoomedInto);
    if (!hasEnded(store.run))
      every(TICK_MS, () => element.isConnected && store.fold.finishedAt === null && draw(), store.signal);
  }

  function names() {
    if (scroller.clientWidth < 640) return NARROW_NAMES_PX;
    return scroller.clientWidth > 1500 ? WIDE_NAMES_PX : NAMES_PX;
  }

  function draw() {
    const width = scroller.clientWidth - names() - END_PX;
    const { fold } = store;
    set(empty, { hidden: fold.startedAt !== null });
    set(scroller, { hidden: fold.startedAt === null });
    if (fold.startedAt === null || width <= 0) return;
    const selected = selection();
    const goesOn = fold.finishedAt === null;
    const state = [
      fold.lastSeq,
      goesOn && Math.floor(Date.now() / TICK_MS),
      width,
      scroller.scrollLeft,
      scroller.scrollTop,
      scroller.clientHeight,
      zoom.mode,
      view.zooms,
      selected.item,
      selected.row,
      keys.active(),
    ].join(" ");
    if (state === view.drawn) return;
    view.drawn = state;
    drawNow(width, selected, goesOn);
  }

  function drawNow(width, selected, goesOn) {
    const time = `${store.fold.lastSeq} ${goesOn && Math.floor(Date.now() / TICK_MS)}`;
    if (time !== view.time) Object.assign(view, { time, look: model.look(Date.now()) });
    const { from, to, busy, path: bounded } = view.look;
    view.scale = zoom.axis({ from, to, breaks: breaksOf(busy, from, to) }, width);
    view.rows = placed(view.look.rows);
    const height = view.rows.reduce((sum, row) => sum + heightOf(row), 0);
    set(scroller, { style: { "--names": `${names()}px` } });
    const across = `${names() + view.scale.width + END_PX}px`;
    set(head, { style: { width: across } });
    set(body, { style: { height: `${height}px`, width: across } });
    if (zoom.mode === "follow") scroller.scrollLeft = scroller.scrollWidth;
    showSelected(selected.row);
    const left = scroller.scrollLeft - AROUND_PX;
    const right = scroller.scrollLeft + scroller.clientWidth + AROUND_PX;
    const { fold } = store;
    const places = new Map(view.rows.map((row) => [row.key, row.top + heightOf({ tracks: 1 }) / 2]));
    ground.draw({
      scale: view.scale,
      left,
      right,
      scrolled: scroller.scrollLeft,
      fold,
      look: view.look,
      places,
      height,
    });
    drawRows(rows, seen(), {
      model,
      look: view.look,
      scale: view.scale,
      left,
      right,
      fold,
      selected,
      active: keys.active(),
    });
    buttons.draw(zoom.mode, goesOn);
    say(corner, `${view.rows.filter((row) => row.task).length} tasks`);
    say(path, `◆ critical path ${duration(bounded.totalMs)}`);
  }

  function placed(list) {
    let top = 0;
    return list.map((row) => {
      const here = { ...row, top };
      top += heightOf(row);
      return here;
    });
  }

  function seen() {
    const top = scroller.scrollTop - AROUND_PX;
    const bottom = scroller.scrollTop + scroller.clientHeight + AROUND_PX;
    const focused = scroller.querySelector(":focus")?.closest(".lane")?.dataset.row ?? null;
    return view.rows.filter((row) => (row.top < bottom && row.top + heightOf(row) > top) || row.key === focused);
  }

  /** What is selected, as keys of a row and of what is in it. */
  function selection() {
    const query = store.query;
    const task = query.get("task");
    const item = query.get("call")
      ? `call:${query.get("call")}`
      : query.get("tool")
        ? `tool:${query.get("tool")}`
        : task && query.get("attempt")
          ? `attempt:${task}:${query.get("attempt")}`
          : null;
    return { item, row: task ? `task:${task}` : null };
  }

  function zoomed(change, clientX = null) {
    const window_ = scroller.getBoundingClientRect();
    const middle = names() + (scroller.clientWidth - names()) / 2;
    const place = (clientX === null ? middle : clientX - window_.left) - names();
    const at = view.scale?.at(scroller.scrollLeft + place);
    change(zoom);
    view.zooms += 1;
    draw();
    if (zoom.mode === "free" && at !== undefined) scroller.scrollLeft = view.scale.x(at) - place;
    draw();
  }

  function zoomedInto(left, right) {
    const { scale } = view;
    const from = scale.at(left);
    const broken = scale.breaks.filter((each) => each.x < right && each.x + each.width > left);
    const waited = broken.reduce((sum, each) => sum + each.to - each.from, 0);
    zoomed((each) => each.over(scale.at(right) - from - waited));
    scroller.scrollLeft = view.scale.x(from);
    draw();
  }

  function keyed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const change = ZOOM_KEYS[event.key];
    const focused = event.target.item ? event.target.getBoundingClientRect().left : null;
    if (change) zoomed(change, focused);
    else if (!keys.press(event)) return;
    event.preventDefault();
  }

  /** What has been selected elsewhere comes into sight, once. */
  function showSelected(key) {
    if (key === view.shownRow) return;
    const row = view.rows.find((each) => each.key === key);
    if (row) showRow(row);
    if (row || key === null) view.shownRow = key;
  }

  function showRow(row) {
    const room = scroller.clientHeight - head.offsetHeight;
    if (row.top < scroller.scrollTop) scroller.scrollTop = row.top;
    else if (row.top + heightOf(row) > scroller.scrollTop + room) scroller.scrollTop = row.top + heightOf(row) - room;
  }

  /** Bring a thing in a row into sight. */
  function reveal(row, item) {
    showRow(row);
    const x = view.scale.x(item.from);
    const width = scroller.clientWidth - names();
    if (x < scroller.scrollLeft || x > scroller.scrollLeft + width - END_PX) {
      if (zoom.mode === "follow") zoom.mode = "free";
      scroller.scrollLeft = x - width / 3;
    }
    draw();
  }

  function chooseElement(found) {
    if (!found) return;
    if (found.item) choose(found.item);
    else
      store.select({
        task: found.dataset.key.slice("task:".length),
        attempt: null,
        call: null,
        tool: null,
        event: null,
      });
  }

  function choose({ kind, taskId = null, attempt = null, call = null, tool = null }) {
    if (kind === "phase") return;
    store.select({ task: taskId, attempt, call: call?.seq ?? null, tool: tool?.seq ?? null, event: null });
  }
}

function legend() {
  const entry = (kind, text, state = "") => h("li", {}, h("span", { class: `swatch ${kind}`, data: { state } }), text);
  return h("ul", { class: "lanes-legend small quiet" },
    entry("before", "waits for others"),
    entry("queue", "waits to begin"),
    entry("attempt", "works", "running"),
    entry("attempt", "delivered", "succeeded"),
    entry("attempt", "failed", "failed"),
    entry("call", "model call"),
    entry("tool", "tool call"),
    entry("question", "waits for an answer"),
    entry("broken", "a long wait, drawn short"),
    h("li", {}, h("span", { class: "swatch line" }), "critical path"),
  );
}
