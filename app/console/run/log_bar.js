/** What is above the event log: its filters, which live in the address, and whether it follows. */

import { h, keep, say, set } from "../dom.js";
import { GROUPS } from "./log_words.js";

const TYPING_MS = 150;

export function logBar(store, { onFollow }) {
  let typed = null;
  const groups = Object.entries(GROUPS).map(([group, { name }]) =>
    h("button", { type: "button", class: "toggle", data: { group }, on: { click: () => toggle(group) } }, name),
  );
  const text = h("input", {
    type: "search",
    placeholder: "Words in the log",
    "aria-label": "Words in the log",
    on: { input: typing },
  });
  const tasks = h("select", { "aria-label": "Task", on: { change: () => store.select({ log_task: tasks.value }) } });
  const clock = h("button", { type: "button", on: { click: tell } }, "Time of day");
  const following = h("button", { type: "button", on: { click: () => onFollow(following.ariaPressed !== "true") } },
    "Follow",
  );
  const clear = h("button", { type: "button", class: "plain", on: { click: reset } }, "Clear filters");
  const element = h("header", {},
    h("h2", {}, "Log"),
    h("div", { class: "row" }, text, tasks, clock, following),
    h("div", { class: "toggles", role: "group", "aria-label": "Kinds of events" }, ...groups, clear),
  );

  return { element, draw };

  function draw({ following: follows, filter }) {
    set(following, {
      hidden: store.fold.finishedAt !== null,
      "aria-pressed": String(follows),
      title: follows ? "The log stays at its end" : "Stay at the end",
    });
    set(clock, { "aria-pressed": String(store.query.get("log_time") === "clock") });
    for (const button of groups) set(button, { "aria-pressed": String(filter.groups.has(button.dataset.group)) });
    set(clear, { hidden: !filter.groups.size && !filter.task && !filter.words.length });
    drawTasks(filter.task);
    if (document.activeElement !== text) text.value = store.query.get("log_text") ?? "";
  }

  function drawTasks(chosen) {
    const all = [
      { id: "", title: "All tasks" },
      ...[...store.fold.tasks.values()].map(({ id, plan }) => ({ id, title: plan.title })),
    ];
    if (chosen && !store.fold.tasks.has(chosen)) all.push({ id: chosen, title: "" });
    keep(tasks, all, {
      key: ({ id }) => id,
      make: ({ id }) => h("option", { value: id }),
      change: (option, { id, title }) => say(option, id ? [id, title].filter(Boolean).join(" · ").slice(0, 48) : title),
    });
    if (tasks.value !== (chosen ?? "")) tasks.value = chosen ?? "";
  }

  function toggle(group) {
    const chosen = new Set(store.query.getAll("log_group"));
    if (!chosen.delete(group)) chosen.add(group);
    store.select({ log_group: [...chosen] });
  }

  function tell() {
    store.select({ log_time: store.query.get("log_time") === "clock" ? null : "clock" }, { replace: true });
  }

  function typing() {
    clearTimeout(typed);
    typed = setTimeout(() => store.select({ log_text: text.value.trim() }, { replace: true }), TYPING_MS);
  }

  function reset() {
    text.value = "";
    store.select({ log_group: [], log_task: null, log_text: null });
    text.focus();
  }
}
