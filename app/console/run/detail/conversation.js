/**
 * What a model was sent in a call, told from the events before it. The first call of a conversation has its opening;
 * a later one sends what was said since: replies, what tools brought, and why a reply was not taken. The API's trace
 * (`include=content`) tells the same, at the cost of the whole run.
 */

const GO_ON = {
  "plan.invalid": "plan",
  "task.rejected": "work",
  "ruling.rejected": "rule",
  "tool.started": "work",
  "tool.completed": "work",
  "tool.failed": "work",
  "synthesis.rejected": "synthesize",
  "reduction.rejected": "reduce",
  "review.rejected": "review",
  "selection.rejected": "select",
  "judgement.rejected": "arbitrate",
  "verification.rejected": "verify",
};
/** Which conversations an event ends, for the run as a whole; a later call of the kind begins with an opening. */
const RUN_ENDS = {
  "plan.created": ["plan"],
  "selection.completed": ["select"],
  "selection.failed": ["select"],
  "synthesis.completed": ["synthesize", "review"],
  "reduction.completed": ["reduce"],
  "reduction.skipped": ["reduce"],
  "finding.verified": ["verify"],
  "review.completed": ["synthesize", "review"],
  "conflict.judged": ["synthesize", "review", "arbitrate"],
  "conflict.left_open": ["synthesize", "review", "arbitrate"],
};
const NUMBERED = new Set(["reduce", "verify"]);
const TASK_ENDS = new Set(["task.failed", "task.retrying", "task.refined", "task.skipped", "task.cancelled"]);
const ATTEMPT_ENDS = new Set(["task.succeeded", "attempt.failed", "attempt.cancelled"]);
const EMPTY_REPLY = { type: "text", text: "(empty reply)" };
const CUT_SHORT = { type: "text", text: "(An earlier reply was cut at the output cap. Be brief enough to finish.)" };
const NOT_RUN = { content: "This call was not run: the reply did not stop for it.", is_error: true };

/** What the call of event `seq` was sent: `{system, messages, tools, toolNames, schema}`; null when there is none. */
export function requestOf(events, seq) {
  const call = events[seq - 1];
  if (!call?.type.startsWith("llm.")) return null;
  const topic = topicOf(call);
  let talk = newTalk();
  let terms = null;
  for (const event of events.slice(0, seq)) {
    if (event.data.terms && event.data.terms_id === call.data.terms_id) terms = event.data.terms;
    if (event === call) break;
    if (ends(event, topic)) talk = newTalk();
    else if (isOf(event, topic)) hear(talk, event);
  }
  const opening = talk.opening ?? call.data.opening ?? null;
  return {
    system: opening?.system ?? null,
    messages: [...(opening ? [openedWith(opening, talk)] : []), ...talk.turns.flatMap(said)],
    tools: terms?.tools ?? null,
    toolNames: opening?.tools ?? [],
    schema: terms?.output_schema ?? null,
  };
}

function newTalk() {
  return { opening: null, turns: [], truncations: 0 };
}

function topicOf({ type, data, task_id: taskId, attempt }) {
  return { purpose: data.purpose ?? GO_ON[type], taskId: taskId ?? null, number: attempt || data.number || 1 };
}

function isOf(event, topic) {
  if (!event.type.startsWith("llm.") && !GO_ON[event.type]) return false;
  const { purpose, taskId, number } = topicOf(event);
  return purpose === topic.purpose && taskId === topic.taskId && number === topic.number;
}

function ends({ type, data, task_id: taskId, attempt }, topic) {
  if (topic.taskId !== null) {
    if (taskId !== topic.taskId) return false;
    const ofAttempt = attempt === topic.number && (topic.purpose === "work" || topic.purpose === "rule");
    return TASK_ENDS.has(type) || (ATTEMPT_ENDS.has(type) && ofAttempt);
  }
  if (!RUN_ENDS[type]?.includes(topic.purpose)) return false;
  return !NUMBERED.has(topic.purpose) || data.number === topic.number;
}

function hear(talk, { type, data }) {
  const last = talk.turns.at(-1);
  if (type.startsWith("llm.")) {
    talk.opening ??= data.opening ?? null;
    if (type === "llm.completed") reply(talk, last, data);
  } else if (!last || data.provider) return;
  else if (type === "tool.completed") last.results.set(data.call_id, { content: data.output, is_error: false });
  else if (type === "tool.failed") last.results.set(data.call_id, { content: data.error.message, is_error: true });
  else if (type !== "tool.started") last.note = data.note ?? null;
}

function reply(talk, last, { content, stop_reason: stopReason }) {
  if (stopReason === "max_tokens") talk.truncations += 1;
  else if (last?.stopReason === "pause_turn")
    Object.assign(last, { content: [...last.content, ...content], stopReason });
  else talk.turns.push({ content, stopReason, results: new Map(), note: null });
}

function openedWith(opening, { truncations }) {
  return { role: "user", content: [{ type: "text", text: opening.message }, ...(truncations ? [CUT_SHORT] : [])] };
}

/** A turn as it is sent: the reply as providers take it back, and what our side said to it. */
function said({ content, stopReason, results, note }) {
  const kept = content.filter((block) => block.type !== "text" || block.text.trim());
  const speaks = kept.some(({ type }) => type !== "thinking" && type !== "redacted_thinking");
  const calls = stopReason === "pause_turn" ? [] : content.filter(({ type }) => type === "tool_use");
  const ours = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, ...(results.get(id) ?? NOT_RUN) }));
  if (note !== null) ours.push({ type: "text", text: note });
  const turn = [{ role: "assistant", content: speaks ? kept : [...kept, EMPTY_REPLY] }];
  return ours.length ? [...turn, { role: "user", content: ours }] : turn;
}
