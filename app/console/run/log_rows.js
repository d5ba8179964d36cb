/**
 * The rows of the event log. It is one stop for the keyboard: the arrows, Page Up and Down, Home and End go from row to
 * row, Enter opens one. Rows that are not seen are not there.
 */

import { h, keep, say, set } from "../dom.js";
import { moment } from "../format.js";
import { elapsed } from "./axis.js";
import { TONE_SIGNS, groupOf, toneOf, wordsOf } from "./log_words.js";

const ROW_PX = 28;
const NARROW_ROW_PX = 48;
const AROUND = 8;
const AT_END_PX = 4;
const COLUMNS = ["No.", "Time", "Type", "Task", "What happened"];

export function logRows({ onOpen, onScroll }) {
  const narrow = matchMedia("(max-width: 760px)");
  let events = [];
  let shown = {};
  let active = null;
  let drawn = "";
  const head = h("div", { role: "row", class: "log-head", "aria-rowindex": 1 },
    COLUMNS.map((name) => h("span", { role: "columnheader" }, name)),
  );
  const body = h("div", { role: "rowgroup", class: "log-body" });
  const element = h(
    "div",
    {
      class: "log-rows",
      role: "grid",
      tabindex: 0,
      "aria-label": "Events",
      "aria-colcount": COLUMNS.length,
      on: { scroll, keydown, click },
    },
    head,
    body,
  );
  new ResizeObserver(() => draw()).observe(element);

  return { element, show, toEnd, reveal };

  function rowHeight() {
    return narrow.matches ? NARROW_ROW_PX : ROW_PX;
  }

  function show(matching, { reset, ...how }) {
    events = matching;
    shown = how;
    if (reset) {
      element.scrollTop = 0;
      active = null;
    }
    draw();
  }

  /** Draw the rows that are seen, unless nothing has changed. */
  function draw() {
    const height = rowHeight();
    const first = Math.max(0, Math.floor(element.scrollTop / height) - AROUND);
    const last = Math.min(events.length, Math.ceil((element.scrollTop + element.clientHeight) / height) + AROUND);
    const now = [first, last, events.length, events[0]?.seq, active, ...Object.values(shown), height].join(" ");
    if (now === drawn) return;
    drawn = now;
    set(element, {
      "aria-rowcount": events.length + 1,
      "aria-activedescendant": active === null ? null : rowId(active),
    });
    set(body, { style: { height: `${events.length * height}px` } });
    const seen = events.slice(first, last).map((event, index) => ({ event, index: first + index }));
    keep(body, seen, { key: ({ event }) => event.seq, make: row, change });
  }

  function change(element_, { event, index }) {
    set(element_, {
      "aria-rowindex": index + 2,
      "aria-selected": String(event.seq === shown.selected),
      class: event.seq === active ? "log-row active" : "log-row",
      style: { transform: `translateY(${index * rowHeight()}px)` },
    });
    const at = Date.parse(event.at);
    say(element_.children[1], shown.clock ? moment(event.at) : elapsed(at - (shown.startedAt ?? at), 10));
  }

  function toEnd() {
    const end = element.scrollHeight - element.clientHeight;
    if (Math.abs(element.scrollTop - end) > 1) element.scrollTop = end;
    draw();
  }

  function scroll() {
    draw();
    onScroll(element.scrollTop + element.clientHeight >= element.scrollHeight - AT_END_PX);
  }

  function click({ target }) {
    const found = target.closest("[role=row][data-seq]");
    if (found) opened(Number(found.dataset.seq));
  }

  function opened(seq) {
    active = seq;
    draw();
    onOpen(events.find((event) => event.seq === seq));
  }

  function keydown(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = events.findIndex((each) => each.seq === active);
    const page = Math.max(1, Math.floor(element.clientHeight / rowHeight()) - 2);
    const from = at < 0 ? firstSeen() - 1 : at;
    const to = {
      ArrowDown: from + 1,
      ArrowUp: at < 0 ? firstSeen() : at - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: events.length - 1,
    }[event.key];
    if (to !== undefined) moveTo(Math.min(Math.max(to, 0), events.length - 1));
    else if ((event.key === "Enter" || event.key === " ") && at >= 0) opened(active);
    else return;
    event.preventDefault();
  }

  function firstSeen() {
    return Math.ceil(element.scrollTop / rowHeight());
  }

  function moveTo(index) {
    if (!events[index]) return;
    active = events[index].seq;
    scrollTo(index);
    draw();
  }

  /** Bring an event into sight; whether it had to be scrolled for that. */
  function reveal(seq) {
    const index = events.findIndex((event) => event.seq === seq);
    if (index < 0) return false;
    active = seq;
    const scrolled = scrollTo(index);
    draw();
    return scrolled;
  }

  function scrollTo(index) {
    const before = element.scrollTop;
    const height = rowHeight();
    const room = element.clientHeight - head.offsetHeight;
    const top = index * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + room) element.scrollTop = top + height - room;
    return element.scrollTop !== before;
  }
}

const rowId = (seq) => `event-${seq}`;

function row({ event }) {
  const tone = toneOf(event);
  const cell = (name, ...children) => h("span", { role: "gridcell", class: name }, ...children);
  const subject = event.task_id ? `${event.task_id}${event.attempt ? ` #${event.attempt}` : ""}` : "";
  return h("div", { role: "row", id: rowId(event.seq), data: { seq: event.seq, tone, group: groupOf(event.type) } },
    cell("seq", String(event.seq)),
    cell("time"),
    cell("type", h("span", { class: "sign", "aria-hidden": "true" }, TONE_SIGNS[tone]), event.type),
    cell("task", subject),
    cell("words", wordsOf(event)),
  );
}
