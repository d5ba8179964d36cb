/** The event log: a grid of rows of one height, of which those that are seen are there; it follows the run. */

import { h, say, set } from "../dom.js";
import { count, hasEnded, plural } from "../format.js";
import { filterOf, isOpen, lets, sameFilter } from "./log_filter.js";
import { logBar } from "./log_bar.js";
import { logRows } from "./log_rows.js";

export function logView(store) {
  const state = { filter: filterOf(store.query), taken: 0, matching: [], following: !hasEnded(store.run) };
  const rows = logRows({ onOpen: open, onScroll: scrolled });
  const bar = logBar(store, { onFollow: follow });
  const empty = h("p", { class: "empty" });
  const said = h("p", { class: "quiet small", "aria-live": "off" });
  const element = h("section", { class: "panel log", "aria-label": "Event log" },
    bar.element,
    rows.element,
    empty,
    said,
  );

  return { element, draw };

  function draw() {
    const { fold, query } = store;
    const filter = filterOf(query);
    const refiltered = !sameFilter(filter, state.filter);
    if (refiltered) Object.assign(state, { filter, taken: 0, matching: [] });
    for (; state.taken < fold.events.length; state.taken += 1) {
      const event = fold.events[state.taken];
      if (lets(filter, event)) state.matching.push(event);
    }
    const selected = Number(query.get("event") ?? query.get("call") ?? query.get("tool")) || null;
    set(rows.element, { hidden: !state.matching.length });
    rows.show(state.matching, {
      startedAt: fold.queuedAt,
      clock: query.get("log_time") === "clock",
      selected,
      reset: refiltered,
    });
    if (selected !== state.selected && (selected === null || store.caughtUp)) {
      state.selected = selected;
      if (selected !== null && rows.reveal(selected)) state.following = false;
    }
    if (state.following) rows.toEnd();
    bar.draw({ following: state.following, filter });
    set(empty, { hidden: state.matching.length > 0 });
    say(empty, emptiness(filter));
    say(said, tally(filter));
  }

  function emptiness(filter) {
    if (!store.fold.events.length)
      return store.streaming === "refused" ? store.refusal.message : "The events are being read…";
    return isOpen(filter) ? "" : "No event fits the filter.";
  }

  function tally(filter) {
    const { events, lastSeq } = store.fold;
    const read = store.caughtUp
      ? plural(events.length, "event")
      : `${count(lastSeq)} of ${count(store.run.last_seq)} events read`;
    const shown = isOpen(filter) ? "" : `${count(state.matching.length)} shown · `;
    const away = store.streaming === "away" ? " · the stream is away, and goes on where it was" : "";
    return `${shown}${read}${away}`;
  }

  function open(event) {
    store.select({ event: event.seq, task: event.task_id, attempt: event.attempt, call: null, tool: null });
  }

  /** Whoever scrolls up reads, and is left alone; whoever comes back to the end follows again. */
  function scrolled(atEnd) {
    const following = atEnd && !hasEnded(store.run);
    if (following === state.following) return;
    state.following = following;
    bar.draw({ following, filter: state.filter });
  }

  function follow(wanted) {
    state.following = wanted;
    if (wanted) rows.toEnd();
    bar.draw({ following: wanted, filter: state.filter });
  }
}
