/** What is in the lanes, in words: for whoever points at it, or has it read out. */

import { count, duration, money } from "../format.js";
import { purposeOf } from "./log_words.js";

const PARTS = { planning: "Planning", synthesis: "From the last task to the end" };
const RUN_WAITS = {
  plan_approval: "waits for approval of its plan",
  answer: "waits for an answer",
  children: "waits for nested runs",
  provider: "waits for its model provider",
};

/** What a thing in the lanes is, and how long, in lines; the first one names it. */
export function linesOf(item, fold, now) {
  const lasted = duration((item.to ?? now) - item.from);
  const whole = item.to === null ? `for ${lasted} so far` : lasted;
  return LINES[item.kind](item, fold, whole).filter(Boolean);
}

const plain = (text) => text.replaceAll("_", " ");
const problem = (error) => error && `${plain(error.code)}: ${error.message}`.slice(0, 240);

const LINES = {
  wait: (wait, fold, whole) => [`The run ${waitWords(wait)}`, whole],
  broken: ({ reason }, fold, whole) => [
    reason ? `The run ${waitWords({ reason })}` : "Nothing is at work",
    `${whole}, drawn short`,
  ],
  phase: ({ part }, fold, whole) => [PARTS[part] ?? part, whole],
  before: ({ taskId }, fold, whole) => [
    `${taskId} waits for ${fold.tasks.get(taskId).plan.depends_on.join(", ")}`,
    whole,
  ],
  queue: ({ taskId }, fold, whole) => [`${taskId} is ready and waits to begin`, whole],
  pause: ({ taskId, attempt }, fold, whole) => [`${taskId} waits after attempt ${attempt}`, whole],
  question: ({ taskId, question }, fold, whole) => [`${taskId} waits for an answer`, whole, question?.question],
  attempt: attempted,
  call: ({ call }, fold, whole) => [
    `${call.model} ${purposeOf(call.purpose)}${call.ok ? "" : ", failed"}`,
    `${whole}${call.waitedMs ? `, ${duration(call.waitedMs)} of it waited` : ""}`,
    `${count(call.usage.input_tokens)} + ${count(call.usage.output_tokens)} tokens · ${money(call.usage.cost_usd)}`,
    call.taskId && `${call.taskId}, attempt ${call.attempt}`,
    problem(call.error),
  ],
  tool: ({ tool, state }, fold, whole) => [
    `${tool.name}${state === "failed" ? ", failed" : ""}`,
    whole,
    `${tool.taskId}, attempt ${tool.attempt}`,
    tool.provider && "run by the model's provider",
  ],
};

function attempted({ taskId, attempt, tried, child }, fold, whole) {
  return [
    `${taskId}, attempt ${attempt}: ${tried.status}`,
    whole,
    child ? `nested run of ${child.team.name}, ${child.status}` : `${tried.worker} on ${tried.model}`,
    tried.beside && `beside attempt ${tried.beside}`,
    tried.escalation && `escalated: ${plain(tried.escalation.reason)}`,
    problem(tried.error),
  ];
}

/** What the whole run waits for. */
export function waitWords({ reason }) {
  return RUN_WAITS[reason] ?? "waits";
}
