/** Which events the log shows: by group of types, by task, and by words; and where the address says so. */

import { groupOf, wordsOf } from "./log_words.js";

/** The filter that an address has: `log_group` (any of them), `log_task`, `log_text` (all of its words). */
export function filterOf(query) {
  const words = (query.get("log_text") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return { groups: new Set(query.getAll("log_group")), task: query.get("log_task"), words };
}

/** Whether two filters let the same through. */
export function sameFilter(one, other) {
  const key = ({ groups, task, words }) => JSON.stringify([[...groups].sort(), task, words]);
  return key(one) === key(other);
}

/** Whether the filter lets everything through. */
export function isOpen({ groups, task, words }) {
  return !groups.size && !task && !words.length;
}

/** Whether a filter lets an event through. */
export function lets({ groups, task, words }, event) {
  if (groups.size && !groups.has(groupOf(event.type))) return false;
  if (task && event.task_id !== task) return false;
  if (!words.length) return true;
  const text = `${event.seq} ${event.type} ${event.task_id ?? ""} ${wordsOf(event)}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
