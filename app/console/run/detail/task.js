/** A task: what it is to do, what became of it, and the attempts at it. */

import { download } from "../../api.js";
import { h } from "../../dom.js";
import { facts } from "../../facts.js";
import { bytes, count, duration, money, plural } from "../../format.js";
import { prose } from "../../markdown.js";
import { difference } from "./diff.js";
import { link, plain, problem, state, taskLinks, toAttempt } from "./parts.js";
import { spentWords, sum, workedMs } from "./spending.js";
import { copyButton, longText, valueTree } from "./texts.js";
import { writing } from "./writing.js";

export function taskDetail(store, task) {
  const { fold } = store;
  const { plan } = task;
  const still = `${plan.instruction.length} ${plan.title}`;
  return {
    kind: "Task",
    title: `${task.id} · ${plan.title}`,
    sections: [
      ["facts", null, `${task.seq} ${fold.finishedAt}`, () => about(store, task)],
      writing(fold, (place) => place.startsWith(`${task.id}/`)),
      task.error && ["error", null, task.error.message, () => problem(task.error)],
      task.output && ["output", "What it delivered", task.seq, () => output(store, task.output)],
      task.attempts.length > 0 && ["attempts", "Attempts", task.seq, () => attempts(store, task)],
      ["instruction", "Instruction", still, () => longText(plan.instruction, { name: "instruction" })],
      plan.context && ["context", "Context", plan.context.length, () => longText(plan.context, { name: "context" })],
      plan.success_criterion && [
        "criterion",
        "Success criterion",
        plan.success_criterion,
        () => h("p", { class: "text" }, plan.success_criterion),
      ],
    ],
  };
}

function about({ fold }, task) {
  const { plan } = task;
  const calls = fold.calls.filter((call) => call.taskId === task.id);
  const spent = sum(calls);
  const followers = [...fold.tasks.values()]
    .filter((other) => other.plan.depends_on.includes(task.id))
    .map(({ id }) => id);
  const question = task.question && fold.questions.get(task.question);
  return facts([
    ["State", [state(task.status), task.dropped ? " · the run goes on without it" : ""]],
    ["Waits for", question?.status === "open" ? `an answer: ${question.question}` : null],
    ["Worker", task.worker],
    ["Model", task.attempts.at(-1)?.model ?? null],
    ["At work", task.attempts.length ? duration(workedMs(task, fold.until())) : null],
    ["Model calls", spent ? spentWords(spent) : null],
    ["Needs", plan.depends_on.length ? taskLinks(plan.depends_on, fold) : "nothing"],
    ["Needed by", followers.length ? taskLinks(followers, fold) : null],
    ["Required", plan.required === false ? "no" : null],
    ["Without an input", plan.on_missing_input === "proceed" ? "it goes on" : null],
    ["Budget", plan.budget ? budget(plan.budget) : null],
    ["Split into", task.splitInto ? taskLinks(task.splitInto, fold) : null],
    [
      "Made in",
      task.reused
        ? [h("a", { href: `/console/runs/${task.reused.run}?task=${task.reused.task}` }, task.reused.run)]
        : null,
    ],
  ]);
}

function budget({ tokens, steps, timeout_s: seconds }) {
  const parts = [
    tokens && `${count(tokens)} tokens`,
    steps && plural(steps, "step"),
    seconds && duration(seconds * 1000),
  ];
  return parts.filter(Boolean).join(", ") || null;
}

function output(store, told) {
  const marks = [
    told.partial && "a part only",
    told.unverified && "rests on the worker's word alone",
    told.instruction_like && "speaks as a prompt would",
    told.free_form && "not in the form of a report",
  ].filter(Boolean);
  return [
    h("p", { class: "text" }, told.summary),
    marks.length > 0 && h("p", { class: "notice" }, `Mind: ${marks.join("; ")}.`),
    facts([
      [
        "Confidence",
        told.confidence === null || told.confidence === undefined ? null : `${Math.round(told.confidence * 100)} %`,
      ],
      [
        "Sources",
        told.sources?.length
          ? h("ul", { class: "plain-list" }, told.sources.map((each) => h("li", {}, each)))
          : null,
      ],
      ["Files", told.artifacts?.length ? files(store, told.artifacts) : null],
      ["Nested run", told.nested ? h("a", { href: `/console/runs/${told.nested.run}` }, told.nested.run) : null],
    ]),
    told.text &&
      h("div", { class: "long" },
        prose(told.text, { top: 4 }),
        copyButton(() => told.text, "result"),
      ),
    told.data !== null && told.data !== undefined && [h("h4", {}, "Data"), valueTree(told.data, "data")],
  ];
}

function files({ id }, artifacts) {
  return h("ul", { class: "plain-list" },
    artifacts.map(({ name, media_type: type, bytes: size }) =>
      h("li", {},
        h(
          "button",
          {
            type: "button",
            class: "link",
            on: { click: () => download(`/v1/runs/${id}/artifacts/${encodeURIComponent(name)}`, name) },
          },
          name,
        ),
        ` ${[type, size === undefined ? null : bytes(size)].filter(Boolean).join(", ")}`,
      ),
    ),
  );
}

function attempts({ fold }, task) {
  return h("ol", { class: "attempts" },
    task.attempts.map((attempt) =>
      h("li", {},
        h("div", { class: "row" },
          link(toAttempt(task.id, attempt.number), `Attempt ${attempt.number}`),
          state(attempt.status),
          h("span", { class: "quiet numbers" },
            [
              attempt.worker,
              duration((attempt.finishedAt ?? fold.until()) - attempt.startedAt),
              money(attempt.cost),
            ].join(" · "),
          ),
        ),
        attempt.change && h("p", { class: "small" }, attempt.change),
        attempt.escalation &&
          h("p", { class: "small" }, `Escalated, ${plain(attempt.escalation.reason)}: ${attempt.escalation.message}`),
        attempt.error && h("p", { class: "small wrong" }, `${plain(attempt.error.code)}: ${attempt.error.message}`),
      ),
    ),
  );
}

/** The instruction of an attempt as it differs from that of the one that led to it. */
export function instructionOf(task, attempt) {
  const before = task.attempts.find((each) => each.number === attempt.refinedFrom) ?? task.attempts[attempt.number - 2];
  if (!before || before.instruction === attempt.instruction)
    return longText(attempt.instruction, { name: "instruction" });
  const pieces = difference(before.instruction, attempt.instruction);
  const tags = { added: "ins", removed: "del", same: "span" };
  return [
    h("p", { class: "quiet small" },
      `Against attempt ${before.number}: `,
      h("ins", {}, "new"),
      " ",
      h("del", {}, "gone"),
    ),
    h("div", { class: "difference" }, pieces.map(({ kind, text }) => h(tags[kind], {}, text))),
  ];
}
