/** Runs as a table whose rows lead to them. Times go on between two looks at the service. */

import { h, keep, say, set } from "../dom.js";
import { ago, duration, hasEnded, moment, money, SIGNS, stateOf } from "../format.js";
import { draw, inWords, picture } from "./picture.js";

const MINUTE_MS = 60_000;
const RECENTLY_MS = 60 * MINUTE_MS;
const COLUMNS = [
  ["State"], ["Objective"], ["Team"], ["Tasks"], ["Cost", "number"], ["Elapsed", "number"], ["Created", "number"],
];
const LABELS_SHOWN = 4;

/** A table of runs: `show(runs, left)` has these in this order; `left` has the ids that no longer belong there. */
export function runsTable(caption) {
  const body = h("tbody", { role: "rowgroup" });
  const head = COLUMNS.map(([text, kind]) => h("th", { scope: "col", role: "columnheader", class: kind }, text));
  const element = h("table", { class: "runs", role: "table", hidden: true, on: { keydown: steps } },
    h("caption", { class: "unseen" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)), body);
  let rows = [];
  return { element, show, tick };

  function show(runs, left = new Set()) {
    const seenAt = performance.now();
    rows = runs.map((run) => ({ run, seenAt: run.seenAt ?? seenAt }));
    keep(body, rows, { key: ({ run }) => run.id, make: row, change: (tr, each) => change(tr, each, left) });
  }

  /** Have clocks go on. */
  function tick() {
    for (const tr of body.children) clocks(tr.parts, tr.shown);
  }

  function steps(event) {
    const way = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    const links = [...body.querySelectorAll("a.to-run")];
    const next = links[links.indexOf(event.target.closest("tr")?.querySelector("a.to-run")) + way];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
}

function row({ run }) {
  const parts = {
    state: h("span", { class: "state" }), link: h("a", { class: "to-run", href: run.links.console }, run.objective),
    team: h("a", { class: "quiet", href: `/console/teams/${run.team.name}` }, run.team.name),
    picture: picture(), tasks: h("span", { class: "quiet numbers" }), cost: h("span"), elapsed: h("span"),
    created: h("time", { datetime: run.created_at, title: new Date(run.created_at).toLocaleString() }),
  };
  const cell = (name, kind, ...children) => h("td", { role: "cell", class: kind, data: { name } }, ...children);
  const tr = h("tr", { role: "row" },
    cell("State", "in-state", parts.state), cell("Objective", "in-objective", parts.link, labels(run)),
    cell("Team", "in-team", parts.team),
    cell("Tasks", "in-tasks", h("span", { class: "shape" }, parts.picture, parts.tasks)),
    cell("Cost", "number in-cost", parts.cost), cell("Elapsed", "number in-elapsed", parts.elapsed),
    cell("Created", "number in-created", parts.created));
  return Object.assign(tr, { parts });
}

/** What else a row says of a run: where it comes from, and its metadata. */
function labels(run) {
  const metadata = Object.entries(run.metadata);
  const chips = [
    run.limits.dry_run && h("span", { class: "chip" }, "quote only"),
    run.parent && h("a", { class: "chip", href: `/console/runs/${run.parent}` }, "nested"),
    ...metadata.slice(0, LABELS_SHOWN).map(([key, value]) => h("span", { class: "chip" }, `${key}: ${value}`)),
    metadata.length > LABELS_SHOWN && h("span", { class: "chip" }, `+${metadata.length - LABELS_SHOWN}`),
  ].filter(Boolean);
  return chips.length ? h("div", { class: "labels" }, chips) : null;
}

function change(tr, shown, left) {
  const { run } = shown;
  const gone = left.has(run.id);
  const isNews = tr.shown?.run !== run || tr.gone !== gone;
  Object.assign(tr, { shown, gone });
  if (!isNews) return;
  const { parts } = tr;
  set(tr, { data: { state: run.status, run: run.id, left: String(gone) } });
  say(parts.state, `${SIGNS[run.status]}\u00a0${stateOf(run)}`);
  set(parts.state, { title: gone ? "It no longer belongs to this list." : null });
  draw(parts.picture, run);
  say(parts.tasks, tasksDone(run.progress.tasks));
  parts.tasks.title = inWords(run.progress.tasks);
  say(parts.cost, `${run.usage.estimated ? "~" : ""}${money(run.usage.cost_usd)}`);
  clocks(parts, shown);
}

function tasksDone({ total, succeeded, failed, skipped, cancelled }) {
  return total ? `${succeeded + failed + skipped + cancelled}/${total}` : "–";
}

function clocks(parts, { run, seenAt }) {
  const since = hasEnded(run) ? 0 : performance.now() - seenAt;
  const { wall_ms: wall, queued_ms: queued } = run.timing;
  say(parts.elapsed, run.started_at ? elapsed(run, wall + since) : "–");
  parts.elapsed.title = run.started_at ? "" : `queued for ${duration(queued + since)}`;
  say(parts.created, when(run.created_at, Date.now() - Date.parse(run.created_at)));
}

function when(at, age) {
  if (age >= RECENTLY_MS) return moment(at);
  return age < MINUTE_MS ? ago(at) : `${Math.floor(age / MINUTE_MS)} min ago`;
}

/** A clock that ticks shows whole seconds. */
function elapsed(run, ms) {
  return hasEnded(run) ? duration(ms) : duration(Math.max(1, Math.floor(ms / 1000)) * 1000).replace(".0 s", " s");
}
