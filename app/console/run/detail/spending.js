/** What calls took, added up: by whatever they have in common. Money is a number of US dollars here. */

import { count, money } from "../../format.js";

/** Sums of the calls by `key(call)` in the order of the keys: `{key, calls, failed, read, written, cost, ms, last}`. */
export function sums(calls, key) {
  const rows = new Map();
  for (const call of calls) {
    const name = key(call);
    const row = rows.get(name) ?? {
      key: name,
      calls: 0,
      failed: 0,
      read: 0,
      cached: 0,
      written: 0,
      cost: 0,
      ms: 0,
      last: null,
    };
    const {
      input_tokens: read = 0,
      cache_read_tokens: cached = 0,
      output_tokens: written = 0,
      cost_usd: cost = 0,
    } = call.usage ?? {};
    row.calls += 1;
    row.failed += call.ok ? 0 : 1;
    row.read += read;
    row.cached += cached;
    row.written += written;
    row.cost += Number(cost);
    row.ms += call.finishedAt - call.startedAt;
    row.last = call;
    rows.set(name, row);
  }
  return [...rows.values()];
}

/** The sum of all of them; null when there are none. */
export function sum(calls) {
  return sums(calls, () => "all")[0] ?? null;
}

/** Such a sum in words: `7 · 10,920 + 962 tokens · $0.0217`. */
export function spentWords({ calls, read, written, cost }) {
  return `${count(calls)} · ${count(read)} + ${count(written)} tokens · ${money(cost)}`;
}

/** How long attempts at a task have been under way, up to `now`. */
export function workedMs(task, now) {
  let [whole, until] = [0, -Infinity];
  for (const { startedAt, finishedAt } of task.attempts) {
    const from = Math.max(startedAt, until);
    until = Math.max(from, finishedAt ?? now);
    whole += until - from;
  }
  return whole;
}
