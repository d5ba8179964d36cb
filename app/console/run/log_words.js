/** Events in words: what each type is called for, and a sentence for each event. */

import { count, duration, money, plural } from "../format.js";

/** The groups of types, by which the log is filtered; the first part of a type names its group. */
export const GROUPS = {
  run: { name: "Run", of: ["run", "results"] },
  plan: { name: "Plan", of: ["plan"] },
  task: { name: "Tasks", of: ["task", "attempt", "ruling"] },
  llm: { name: "Model calls", of: ["llm"] },
  tool: { name: "Tools", of: ["tool"] },
  answer: { name: "Answer", of: ["synthesis", "selection", "reduction", "conflict", "judgement", "gap", "review"] },
  finding: { name: "Findings", of: ["findings", "finding", "verification"] },
  human: { name: "People", of: ["question"] },
  child: { name: "Nested runs", of: ["child"] },
  limits: { name: "Limits", of: ["budget", "breaker"] },
};

const GROUP_OF = new Map(Object.entries(GROUPS).flatMap(([group, { of }]) => of.map((each) => [each, group])));

/** The group of a type; "run" for one that is not known. */
export function groupOf(type) {
  return GROUP_OF.get(type.slice(0, type.indexOf("."))) ?? "run";
}

const BAD =
  /(\.failed|\.invalid|\.rejected|\.expired|\.skipped|\.left_open)$|^budget\.exhausted$|^breaker\.opened$|^gap\.found$/;
const GOOD = /(\.succeeded|\.answered|\.approved|\.closed)$|^(synthesis|selection|reduction)\.completed$/;
const WAITING =
  /(\.waiting|\.asked|\.retrying|\.escalated|\.approval_requested|\.cancel_requested|\.partial|\.reassigned|\.split)$/;

/** What an event says of how it goes: `failed`, `succeeded`, `waiting`, `cancelled`, or nothing in particular. */
export function toneOf({ type, data }) {
  if (BAD.test(type) || data.thrown_away || data.child_status === "failed") return "failed";
  if (GOOD.test(type)) return "succeeded";
  if (WAITING.test(type)) return "waiting";
  return type.endsWith(".cancelled") || type === "task.dropped" ? "cancelled" : "";
}

/** A sign for a tone, so that colour is not all that tells it. */
export const TONE_SIGNS = { failed: "✕", succeeded: "●", waiting: "◔", cancelled: "⊘", "": "·" };

const PURPOSES = {
  plan: "for the plan",
  work: "for its task",
  rule: "for a ruling",
  refine: "for a better instruction",
  select: "for the choice of a result",
  reduce: "for a group of results",
  synthesize: "for the answer",
  review: "for the review",
  arbitrate: "for a judgement",
  verify: "for a second look",
};

/** What a model is called for: `for the plan`. */
export function purposeOf(purpose) {
  return PURPOSES[purpose] ?? `for ${purpose}`;
}

const plain = (code) => String(code ?? "").replaceAll("_", " ");
const listed = (ids) => (ids?.length ? ids.join(", ") : "none");
const why = (error) => (error ? `${plain(error.code)}: ${error.message}` : "for no reason given");
const flaws = ({ errors }) => (errors ?? []).map((flaw) => flaw.detail).join("; ") || "something is wrong with it";
const more = (text) => (text ? `: ${text}` : "");
const who = (by) => (by === "default" ? "by default, since nobody decided in time" : "by a client");
const tokens = ({ input_tokens: read = 0, output_tokens: written = 0 } = {}) =>
  `${count(read)} + ${count(written)} tokens`;

const asked = (what) => (data) => `${what} does not hold: ${flaws(data)}.${data.note ? " It is asked for again." : ""}`;
const ended = (how) => (data) => `The run ${how}: ${plain(data.stop_reason)}.`;
const again = (data) => `${why(data.error)} — attempt ${data.next_attempt} follows${more(data.change)}`;

/** A sentence for each type of event; each is given the event's `data`. */
export const WORDS = {
  "run.queued": (data) => `A job for ${data.team.name}@${data.team.version}: ${data.objective}`,
  "run.started": (data) => `Engine ${data.engine} has begun.`,
  "run.resumed": (data) =>
    `Engine ${data.engine} goes on` +
    `${data.lost_calls ? `; ${plural(data.lost_calls, "call")} under way had been lost` : ""}.`,
  "run.waiting": (data) => `The run waits for ${WAITED_FOR[data.reason] ?? plain(data.reason)}.`,
  "run.cancel_requested": (data) => `A client asks for the end of the run${more(data.reason)}`,
  "run.succeeded": ended("has succeeded"),
  "run.partial": ended("has ended with a part"),
  "run.failed": (data) => `The run has failed: ${why(data.error)}`,
  "run.cancelled": (data) =>
    `The run is cancelled${more(data.reason)}. ` +
    `${money(data.cost_usd_after_request)} were spent after that was asked for.`,
  "results.reused": (data) => `Results of ${data.run} are used again: ${listed(data.tasks.map((each) => each.task))}`,
  "plan.created": (data) =>
    `A plan of ${plural(data.tasks.length, "task")}` +
    `${data.source ? `, made by the ${data.source}` : ""}${more(data.goal)}`,
  "plan.revised": (data) => `Revision ${data.revision}: ${changes(data)}${more(data.reason)}`,
  "plan.edited": (data) => `A client has made revision ${data.revision}: ${changes(data)}${more(data.reason)}`,
  "plan.invalid": asked("The plan"),
  "plan.approval_requested": (data) =>
    `Revision ${data.revision} waits for approval; without it the default is to ${plain(data.default)}.`,
  "plan.approved": (data) => `Revision ${data.revision} is approved ${who(data.by)}.`,
  "plan.rejected": (data) => `Revision ${data.revision} is rejected ${who(data.by)}${more(data.reason)}`,
  "task.started": ({ worker, model, beside, instruction }) =>
    `${worker} begins on ${model}${beside ? `, beside attempt ${beside} that takes long` : ""}: ${instruction}`,
  "task.succeeded": (data) => `Delivered${data.partial ? " in part" : ""}: ${data.summary}`,
  "task.failed": (data) => `Failed for good: ${why(data.error)}`,
  "task.retrying": (data) => again(data),
  "task.reassigned": (data) => `${again(data)}; ${data.worker} makes it`,
  "task.refined": (data) => `The instruction is rewritten after attempt ${data.refined_from}${more(data.change)}`,
  "task.rejected": asked("What was handed in"),
  "task.escalated": (data) => `The worker cannot finish, ${plain(data.reason)}: ${data.message}`,
  "task.split": (data) => `Split into ${listed(data.into)}${more(data.change)}`,
  "task.skipped": (data) => `Left out: ${why(data.error)}`,
  "task.cancelled": (data) => (data.error ? `Stopped: ${why(data.error)}` : "Stopped, since the run ends."),
  "task.dropped": (data) =>
    `The run goes on without it after ${duration(data.after_s * 1000)}; what it still delivers is used.`,
  "attempt.failed": (data) => `This attempt has failed, the one beside it goes on: ${why(data.error)}`,
  "attempt.cancelled": (data) =>
    `This attempt is stopped${data.delivered ? `, since attempt ${data.delivered} has delivered` : ""}.`,
  "ruling.rejected": asked("The ruling"),
  "llm.completed": (data) =>
    `Reply of ${data.model} ${purposeOf(data.purpose)}: ${plain(data.stop_reason)}, ${tokens(data.usage)}, ` +
    `${duration(data.duration_ms)}${data.thrown_away ? `; thrown away, ${why(data.thrown_away)}` : ""}`,
  "llm.failed": (data) =>
    `Call of ${data.model} ${purposeOf(data.purpose)} failed after ${duration(data.duration_ms)}: ` +
    `${why(data.error)}${data.retry_at ? "; it is asked again" : ""}`,
  "tool.started": (data) => `${data.name} is called: ${inShort(data.input)}`,
  "tool.completed": (data) =>
    `${data.name} brought ${count(data.output.length)} characters in ` +
    `${duration(data.duration_ms)}: ${inShort(data.output)}`,
  "tool.failed": (data) => `${data.name} failed after ${duration(data.duration_ms)}: ${why(data.error)}`,
  "synthesis.completed": (data) => `The answer is written: ${inShort(data.answer ?? "")}`,
  "synthesis.rejected": asked("The answer"),
  "selection.completed": (data) =>
    `${data.task ? `The result of ${data.task} is chosen` : "No result is chosen; all are used"}${more(data.reason)}`,
  "selection.rejected": asked("The choice of a result"),
  "selection.failed": (data) => `No choice can be had among ${listed(data.candidates)}: ${why(data.error)}`,
  "reduction.completed": (data) => `Group ${data.number} of results is put together: ${listed(data.tasks)}`,
  "reduction.rejected": (data) => asked(`What was made of group ${data.number}`)(data),
  "reduction.skipped": (data) => `Group ${data.number} of results is not put together: ${plain(data.reason)}`,
  "conflict.found": ({ id, topic, claims }) =>
    `Conflict ${id} about ${topic}: ${claims.map(({ task, claim }) => `${task} says “${claim}”`).join(" ")}`,
  "conflict.judged": (data) =>
    `Conflict ${data.id} ${data.resolution ? `is decided: ${data.resolution}` : "cannot be decided"}` +
    more(data.reason),
  "conflict.left_open": (data) => `Conflict ${data.id} stays open, by ${plain(data.method)}: ${plain(data.reason)}`,
  "judgement.rejected": asked("The judgement"),
  "gap.found": ({ task, reason, impact, redispatched_as: closing }) =>
    `The answer lacks ${task}, ${plain(reason)}${closing ? `; ${closing} is to close that` : ""}${more(impact)}`,
  "review.completed": (data) => `The critic says ${plain(data.verdict)} in round ${data.round}${more(data.notes)}`,
  "review.rejected": asked("The review"),
  "findings.placed": (data) =>
    `${data.placed} of ${plural(data.reported, "finding")} are where they say; ${data.dropped.length} are dropped.`,
  "findings.merged": (data) => `${plural(data.left, "finding")} are left; ${data.duplicates} were the same as others.`,
  "findings.filtered": ({ left, threshold, refuted, below }) =>
    `${plural(left, "finding")} are left above a confidence of ${threshold}; ` +
    `${refuted.length} were refuted, ${below.length} below.`,
  "findings.ranked": ({ order, counts }) =>
    `${plural(order.length, "finding")} in order: ` +
    `${Object.entries(counts)
      .map(([severity, number]) => `${number} ${severity}`)
      .join(", ")}`,
  "finding.verified": (data) => `Finding ${data.id} is ${plain(data.verdict)}${more(data.reason)}`,
  "verification.rejected": (data) => asked(`The second look at finding ${data.number}`)(data),
  "question.asked": (data) => `A person is asked: ${data.question}`,
  "question.answered": (data) => `${data.answered_by ?? "Somebody"} answers: ${data.answer}`,
  "question.expired": () => "Nobody has answered in time: the default is taken.",
  "child.started": (data) => `${data.run} of ${data.team.name}@${data.team.version} does the work.`,
  "child.ended": (data) => `${data.run} has ended, ${plain(data.status)}: ${plain(data.stop_reason)}`,
  "budget.exhausted": (data) =>
    `A call ${purposeOf(data.call)} does not fit: it needs ${amount(data, "needed")}, ` +
    `${amount(data, "left")} of ${amount(data, "allowed")} are left.`,
  "breaker.opened": (data) => `${data.name} is left alone for a while: ${plain(data.reason)}`,
  "breaker.closed": (data) => `${data.name} works again.`,
};

const WAITED_FOR = {
  plan_approval: "approval of its plan",
  answer: "an answer",
  children: "nested runs",
  provider: "its model provider",
};

/** An event in a sentence; a type that is not known is told by its data. */
export function wordsOf({ type, data }) {
  const words = WORDS[type];
  try {
    return words ? words(data).replace(/\s+/g, " ") : inShort(data);
  } catch {
    return inShort(data); // A log of another release may lack a field.
  }
}

function changes({ added = [], removed = [], changed = [] }) {
  const parts = [
    ["added", added],
    ["removed", removed],
    ["changed", changed],
  ].filter(([, ids]) => ids.length);
  return parts.map(([how, ids]) => `${ids.join(", ")} ${how}`).join("; ") || "nothing about the tasks";
}

function amount({ limit, ...data }, name) {
  return limit === "cost_usd" ? money(data[name]) : plural(Number(data[name]), "token");
}

function inShort(value) {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
