/** What is shown while nothing is selected: what the supervisor has done, and what the run came to in numbers. */

import { h } from "../../dom.js";
import { count, duration, money, plural } from "../../format.js";
import { CriticalPath } from "../critical_path.js";
import { purposeOf } from "../log_words.js";
import { facts, link, taskLinks, toCall, toTask } from "./parts.js";
import { sum, sums, workedMs } from "./spending.js";
import { writing } from "./writing.js";

const MOST = 5;
const LOOK_EVENTS = 25;

export function overview(store) {
  const { fold, run } = store;
  // While events come by the hundred, sums are made now and then.
  const stamp = fold.finishedAt ?? (store.caughtUp ? fold.lastSeq : Math.floor(fold.lastSeq / LOOK_EVENTS));
  const supervisor = fold.calls.filter((call) => call.purpose !== "work");
  return {
    title: "The run at a glance",
    sections: [
      writing(fold, (place) => !place.includes("/")),
      ["numbers", null, `${stamp} ${run.last_seq} ${run.timing?.wall_ms}`, () => numbers(store)],
      supervisor.length > 0 && ["supervisor", "What the supervisor did", stamp, () => supervised(supervisor)],
      fold.calls.length > 0 && ["models", "Models", stamp, () => byModel(fold.calls)],
      fold.tasks.size > 0 && ["slowest", "Longest at work", stamp, () => ranked(slowest(fold), (ms) => duration(ms))],
      fold.tasks.size > 0 && ["dearest", "Most expensive", stamp, () => ranked(dearest(fold), (usd) => money(usd))],
    ],
  };
}

function numbers({ fold, run }) {
  const path = new CriticalPath().take(fold.events).told(fold.until());
  const all = sum(fold.calls);
  const attempts = [...fold.tasks.values()].flatMap((task) => task.attempts);
  const failed = attempts.filter((each) => each.status === "failed").length;
  const { timing } = run;
  return facts([
    [
      "Tasks",
      fold.tasks.size
        ? `${count(fold.tasks.size)}, ${plural(attempts.length, "attempt")}${failed ? `, ${count(failed)} failed` : ""}`
        : null,
    ],
    ["Model calls", all ? `${count(all.calls)}${all.failed ? `, ${count(all.failed)} failed` : ""}` : null],
    ["Tool calls", fold.tools.length ? count(fold.tools.length) : null],
    ["Tokens", all ? `${count(all.read)} read, ${count(all.written)} written` : null],
    ["Waited in line", timing ? duration(timing.queued_ms) : null],
    ["Time", timing ? `${duration(timing.wall_ms)}; one after the other ${duration(timing.sequential_ms)}` : null],
    ["Speedup", timing ? `${timing.speedup} ×` : null],
    ["Critical path", path.totalMs ? [`${duration(path.totalMs)}: `, ...chain(path, fold)] : null],
  ]);
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
  return table(
    ["", "Calls", "Tokens", "Cost", "Time"],
    sums(calls, (call) => call.purpose).map((row) => [
      link(
        toCall(row.last),
        purposeOf(row.key)
          .replace(/^for (an? |the )?/, "")
          .replace(/^./, (letter) => letter.toUpperCase()),
      ),
      number(`${count(row.calls)}${row.failed ? ` (${count(row.failed)} failed)` : ""}`),
      number(count(row.read + row.written)),
      number(money(row.cost)),
      number(duration(row.ms)),
    ]),
  );
}

function byModel(calls) {
  return table(
    ["Model", "Calls", "Read", "Written", "Cost"],
    sums(calls, (call) => call.model).map((row) => [
      h("code", {}, row.key),
      number(count(row.calls)),
      number(count(row.read)),
      number(count(row.written)),
      number(money(row.cost)),
    ]),
  );
}

const number = (told) => ({ told });

function table(names, rows) {
  const cell = (each) => ("told" in each ? h("td", { class: "number" }, each.told) : h("td", {}, each));
  const head = names.map((name, index) =>
    h("th", { scope: "col", class: index ? "number" : null }, name || h("span", { class: "hidden-text" }, "For what")),
  );
  return h("div", { class: "table", role: "region", tabindex: 0, "aria-label": names[0] || "By what for" },
    h("table", { class: "small" },
      h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell)))),
    ),
  );
}

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
