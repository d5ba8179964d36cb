/** The rows of the lanes: those that are seen are there, and of what is in them what is wide enough to be seen. */

import { fill, h, keep, say, set } from "../dom.js";
import { SIGNS } from "../format.js";
import { linesOf } from "./lane_words.js";

export const TRACK_PX = 24;
export const ROW_PX = 32;
const SMALL_PX = 3;

/** How high a row is. */
export function heightOf({ tracks }) {
  return ROW_PX + (tracks - 1) * TRACK_PX;
}

/** Draw the rows that are given; `drawn` has `{model, look, scale, left, right, fold, selected, active}`. */
export function drawRows(body, rows, drawn) {
  keep(body, rows, {
    key: ({ key }) => key,
    make: ({ key }) =>
      h("div", { class: "lane", role: "listitem", data: { row: key } },
        h("div", { class: "lane-label" }),
        h("div", { class: "lane-track" }),
      ),
    change: (element, row) => drawRow(element, row, drawn),
  });
}

function drawRow(element, row, drawn) {
  const { task } = row;
  set(element, {
    style: { transform: `translateY(${row.top}px)`, height: `${heightOf(row)}px` },
    "aria-current": drawn.selected.row === row.key ? "true" : null,
  });
  const said = [task?.status, task?.plan.title, row.critical, drawn.fold.finishedAt].join("\n");
  if (element.said !== said) {
    element.said = said;
    fill(element.firstChild, label(row));
    set(element, { data: { state: task?.status ?? "none" } });
  }
  const items = drawn.model.items(row, drawn.look);
  keep(element.lastChild, seen(items, drawn), {
    key: ({ key }) => key,
    make: (item) => mark(item),
    change: (each, item) => drawItem(each, item, drawn),
  });
}

function label({ name, task, critical }) {
  const path = critical
    ? h("span", { class: "critical", title: "On the critical path" },
        "◆",
        h("span", { class: "hidden-text" }, "on the critical path"),
      )
    : null;
  if (!task) return [h("span", { class: "part" }, name), path];
  return [
    h(
      "button",
      { type: "button", class: "lane-name", tabindex: -1, data: { key: `task:${task.id}` }, title: task.plan.title },
      h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[task.status]),
      h("code", {}, task.id),
      h("span", { class: "title" }, task.plan.title),
      h("span", { class: "hidden-text" }, task.status),
    ),
    path,
  ];
}

/** The items that can be seen: not beside the window, and of many small ones at one place the first. */
function seen(items, { scale, left, right, look, selected, active }) {
  const last = new Map();
  return items.filter((item) => {
    item.x = scale.x(item.from);
    item.width = scale.x(item.to ?? look.to) - item.x;
    if (item.key === active) return true; // It may have the focus.
    if (item.x > right || item.x + item.width < left) return false;
    if (item.kind !== "call" && item.kind !== "tool") return item.width > 0.4 || item.kind === "attempt";
    const place = `${item.kind} ${item.state} ${item.track}`;
    const hidden = item.width < SMALL_PX && item.x < (last.get(place) ?? -Infinity);
    if (hidden && item.key !== selected.item) return false;
    last.set(place, item.x + SMALL_PX);
    return true;
  });
}

function mark({ key, kind, state }) {
  return h("button", { type: "button", class: `lane-item ${kind}`, tabindex: -1, data: { key, state } });
}

function drawItem(element, item, { selected, active, fold, look }) {
  element.item = item;
  const place = `${item.x.toFixed(1)} ${Math.max(item.width, SMALL_PX - 1).toFixed(1)}`;
  if (element.place !== place) {
    element.place = place;
    const [x, width] = place.split(" ");
    set(element, { style: { transform: `translateX(${x}px)`, width: `${width}px` } });
  }
  const critical = look.bounding.has(item.key);
  const said = [
    item.state,
    item.to,
    item.child?.status,
    item.key === active,
    item.key === selected.item,
    critical,
  ].join();
  if (element.said === said) return;
  element.said = said;
  set(element, {
    data: { state: item.state },
    class: `lane-item ${item.kind}${critical ? " critical" : ""}`,
    tabindex: item.key === active ? 0 : -1,
    "aria-pressed": item.key === selected.item ? "true" : null,
    "aria-label": [...linesOf(item, fold, look.to), critical && "on the critical path"].filter(Boolean).join(", "),
    style: { "--track": item.track - 1 },
  });
  if (item.child) say(element, "⧉");
}
