/** The figures of a run: how long, for how much, how many of its tasks. */

import { h, keep, say, set } from "../dom.js";
import { count, duration, money, SIGNS } from "../format.js";

const ORDER = ["succeeded", "running", "waiting", "failed", "skipped", "cancelled", "pending"];
const WORDS = { succeeded: "done", skipped: "left out", pending: "to come" };

export function figuresView(store) {
  const elapsed = figure("Elapsed");
  const cost = figure("Cost", bar("cost"));
  const tokens = figure("Tokens", bar("tokens"));
  const segments = h("div", { class: "segments", "aria-hidden": "true" });
  const tasks = figure("Tasks", segments);
  const element = h("dl", { class: "run-figures" }, [tasks, elapsed, cost, tokens].map((each) => each.element));
  return { element, draw };

  function draw() {
    const { run, fold } = store;
    elapsed.told(elapsedOf(run, fold));
    const { cost_usd: spent, input_tokens: read, output_tokens: written } = run.usage;
    used(cost, Number(spent), run.limits.cost_usd === null ? null : Number(run.limits.cost_usd), money);
    used(tokens, read + written, run.limits.tokens, count);
    drawTasks(countsOf(fold, run));
  }

  function drawTasks({ total, ...counts }) {
    const some = ORDER.filter((state) => counts[state]);
    const others = some.filter((state) => state !== "succeeded" && state !== "pending");
    const more = others.map((state) => `${SIGNS[state]} ${counts[state]} ${WORDS[state] ?? state}`);
    tasks.told(total ? `${counts.succeeded ?? 0} of ${count(total)} done` : "none yet", more.join(" · "));
    keep(segments, some, {
      key: (state) => state,
      make: (state) => h("span", { data: { state } }),
      change: (part, state) => set(part, { style: { "flex-grow": String(counts[state]) } }),
    });
  }
}

function figure(name, picture = null) {
  const value = h("span", { class: "value" });
  const more = h("span", { class: "quiet small" });
  const element = h("div", {}, h("dt", {}, name), h("dd", {}, h("span", { class: "row" }, value, more), picture));
  return { element, picture, told: (text, beside = "") => (say(value, text), say(more, beside)) };
}

function bar(name) {
  return h("div", { class: "bar-of", "aria-hidden": "true", data: { of: name } }, h("span"));
}

function used(part, amount, limit, written) {
  part.told(written(amount), limit === null ? "no limit" : `of ${written(limit)}`);
  const share = limit ? Math.min(1, amount / limit) : 0;
  part.picture.hidden = limit === null;
  set(part.picture, { data: { near: share > 0.85 ? "limit" : "" } });
  set(part.picture.firstElementChild, { style: { width: `${(share * 100).toFixed(1)}%` } });
}

function elapsedOf(run, fold) {
  const started = run.started_at ? Date.parse(run.started_at) : fold.startedAt;
  if (started === null || started === undefined) {
    const ended = run.finished_at ? Date.parse(run.finished_at) : Date.now();
    return `queued for ${duration(Math.max(0, ended - Date.parse(run.created_at)))}`;
  }
  const ended = run.finished_at ? Date.parse(run.finished_at) : fold.finishedAt ?? Date.now();
  return ticking(Math.max(0, ended - started), Boolean(run.finished_at));
}

/** Tenths of seconds that run past are for nobody. */
function ticking(ms, still) {
  return duration(still ? ms : Math.floor(ms / 1000) * 1000 || ms);
}

/** Tasks of the newest plan by state; what the API says until the events are read. */
function countsOf(fold, run) {
  if (fold.lastSeq < run.last_seq || !fold.plan) return run.progress.tasks;
  const counts = { total: 0 };
  for (const { id } of fold.plan.tasks) {
    const status = fold.tasks.get(id)?.status;
    if (!status) continue;
    counts.total += 1;
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
