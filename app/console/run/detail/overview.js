/** What is shown while nothing is selected: what the supervisor has done, and what the run came to in numbers. */

import { h } from "../../dom.js";
import { facts } from "../../facts.js";
import { count, duration, money } from "../../format.js";
import { tableOf } from "../../tables.js";
import { CriticalPath } from "../critical_path.js";
import { purposeOf } from "../log_words.js";
import { link, taskLinks, toCall, toTask } from "./parts.js";
import { sum, sums, workedMs } from "./spending.js";
import { writing } from "./writing.js";

const MOST = 5;
/** What bounds each run, as far as its events have been read. */
const PATHS = new WeakMap();

export function overview(store) {
  const { fold, run } = store;
  // The run is looked at once a second at most, and so are the sums.
  const stamp = `${fold.finishedAt} ${store.caughtUp} ${run.last_seq} ${run.timing?.wall_ms}`;
  const begun = [...fold.tasks.values()].some((task) => task.attempts.length);
  const supervisor = fold.calls.filter((call) => call.purpose !== "work");
  return {
    title: "The run at a glance",
    sections: [
      writing(fold, (place) => !place.includes("/")),
      ["numbers", null, stamp, () => numbers(store)],
      supervisor.length > 0 && ["supervisor", "What the supervisor did", stamp, () => supervised(supervisor)],
      fold.calls.length > 0 && ["models", "Models", stamp, () => byModel(fold.calls)],
      begun && ["slowest", "Longest at work", stamp, () => ranked(slowest(fold), (ms) => duration(ms))],
      begun && ["dearest", "Most expensive", stamp, () => ranked(dearest(fold), (usd) => money(usd))],
    ],
  };
}

function numbers({ fold, run }) {
  if (!PATHS.has(fold)) PATHS.set(fold, new CriticalPath());
  const path = PATHS.get(fold).take(fold.events).told(fold.until());
  const all = sum(fold.calls);
  const attempts = [...fold.tasks.values()].flatMap((task) => task.attempts);
  const failed = attempts.filter((each) => each.status === "failed").length;
  const { timing } = run;
  return facts([
    ["Tasks", fold.tasks.size ? count(fold.tasks.size) : null],
    ["Attempts", attempts.length ? withFailed(attempts.length, failed) : null],
    ["Model calls", all ? withFailed(all.calls, all.failed) : null],
    ["Tool calls", fold.tools.length ? count(fold.tools.length) : null],
    ["Tokens", all ? `${count(all.read)} read, ${count(all.written)} written` : null],
    ["Waited in line", timing ? duration(timing.queued_ms) : null],
    ["Time", timing ? [duration(timing.wall_ms), ...inSequence(fold, timing)] : null],
    ["Speedup", timing?.speedup >= 1 && attempts.length ? `${timing.speedup} ×` : null],
    ["Critical path", path.totalMs ? [`${duration(path.totalMs)}: `, ...chain(path, fold)] : null],
  ]);
}

/** What the tasks would have taken one after the other: nothing that says much before any has ended. */
function inSequence(fold, { sequential_ms: ms }) {
  const ended = [...fold.tasks.values()].some((task) => task.finishedAt !== null);
  return ended ? [`; one after the other ${duration(ms)}`] : [];
}

function withFailed(number, failed) {
  return failed ? `${count(number)}, ${count(failed)} failed` : count(number);
}

function chain({ tasks, planningMs, synthesisMs }, fold) {
  const parts = [
    `planning ${duration(planningMs)}`,
    ...tasks.map((id) => taskLinks([id], fold)),
    synthesisMs ? `answer ${duration(synthesisMs)}` : null,
  ];
  return parts
    .filter(Boolean)
    .flatMap((part, index) => [index ? " → " : "", part])
    .flat();
}

function supervised(calls) {
  return tableOf(
    "What the supervisor did",
    figures("For", "Calls", "Cost", "Time"),
    sums(calls, (call) => call.purpose).map((row) => [
      link(
        toCall(row.last),
        purposeOf(row.key)
          .replace(/^for (an? |the )?/, "")
          .replace(/^./, (letter) => letter.toUpperCase()),
      ),
      `${count(row.calls)}${row.failed ? ` (${count(row.failed)} failed)` : ""}`,
      money(row.cost),
      duration(row.ms),
    ]),
  );
}

function byModel(calls) {
  return tableOf(
    "Models",
    figures("Model", "Calls", "Read", "Written", "Cost"),
    sums(calls, (call) => call.model).map((row) => [
      h("code", {}, row.key),
      count(row.calls),
      count(row.read),
      count(row.written),
      money(row.cost),
    ]),
  );
}

const figures = (first, ...names) => [first, ...names.map((name) => ({ name, number: true }))];

function slowest(fold) {
  const now = fold.until();
  return [...fold.tasks.values()].map((task) => ({ task, value: workedMs(task, now) }));
}

function dearest(fold) {
  return [...fold.tasks.values()].map((task) => ({ task, value: task.cost }));
}

function ranked(list, words) {
  const first = list
    .filter(({ value }) => value > 0)
    .sort((one, other) => other.value - one.value)
    .slice(0, MOST);
  if (!first.length) return h("p", { class: "quiet" }, "None so far.");
  return h("ol", { class: "ranked" },
    first.map(({ task, value }) =>
      h("li", {},
        link(toTask(task.id), h("code", {}, task.id), " ", task.plan.title),
        h("span", { class: "quiet numbers" }, words(value)),
      ),
    ),
  );
}
