/** A model call: what it was for and what it took, what was sent, and what came back. */

import { h } from "../../dom.js";
import { facts } from "../../facts.js";
import { beginning, count, duration, money, moment, plural } from "../../format.js";
import { purposeOf } from "../log_words.js";
import { around } from "./attempt.js";
import { requestOf } from "./conversation.js";
import { link, plain, problem, state, taskLinks, toAttempt, toCall, toEvent, toTool } from "./parts.js";
import { longText, valueTree } from "./texts.js";

export function callDetail(store, call) {
  const { fold } = store;
  const event = fold.events[call.seq - 1];
  const group = fold.calls.filter((each) => sameConversation(each, call));
  return {
    kind: "Model call",
    title: `${call.model} ${purposeOf(call.purpose)}, ${group.indexOf(call) + 1} of ${group.length}`,
    around: around(group, call, toCall, "call"),
    sections: [
      ["facts", null, call.seq, () => about(fold, call, event.data)],
      call.error && ["error", null, call.seq, () => problem(call.error)],
      event.data.content && ["reply", "Reply", call.seq, () => blocks(event.data.content, fold, call)],
      ["request", "What was sent", call.seq, () => request(fold, call)],
    ],
  };
}

function sameConversation(one, other) {
  return (
    one.taskId === other.taskId &&
    one.attempt === other.attempt &&
    one.purpose === other.purpose &&
    one.number === other.number
  );
}

function about(fold, call, data) {
  const { usage } = call;
  const cached = [
    ["read from the cache", usage.cache_read_tokens],
    ["written to it", usage.cache_write_tokens],
  ].filter(([, tokens]) => tokens);
  return facts([
    ["State", state(call.ok ? "succeeded" : "failed")],
    [
      "For",
      call.taskId
        ? [taskLinks([call.taskId], fold), ", ", link(toAttempt(call.taskId, call.attempt), `attempt ${call.attempt}`)]
        : "the run",
    ],
    ["Stopped", call.stopReason ? plain(call.stopReason) : null],
    [
      "Tokens",
      `${count(usage.input_tokens)} read, ${count(usage.output_tokens)} written` +
        `${usage.estimated ? " (estimated)" : ""}`,
    ],
    ["Cache", cached.map(([what, tokens]) => `${count(tokens)} ${what}`).join(", ")],
    ["Most it might write", data.max_tokens ? count(data.max_tokens) : null],
    ["Cost", money(usage.cost_usd)],
    ["Took", duration(data.duration_ms)],
    ["Waited to be sent", data.waited_ms ? duration(data.waited_ms) : null],
    ["Waited for room in the budget", data.room_ms ? duration(data.room_ms) : null],
    ["Until its first word", data.silent_ms ? duration(data.silent_ms) : null],
    ["Asked again", call.retryAt ? moment(call.retryAt) : null],
    ["Went without", data.left_out?.length ? data.left_out.join(", ") : null],
    ["Request", data.request_id ? h("code", {}, data.request_id) : null],
    ["Event", link(toEvent(call.seq), String(call.seq))],
  ]);
}

function request(fold, call) {
  const sent = requestOf(fold.events, call.seq);
  if (sent.system === null && !sent.messages.length) {
    return h("p", { class: "quiet" }, "The log no longer has it: long texts of runs that ended long ago are cut.");
  }
  const last = sent.messages.length - 1;
  return [
    folded(`System, ${count((sent.system ?? "").length)} characters`, () =>
      longText(sent.system ?? "", { name: "system prompt" }),
    ),
    ...sent.messages.map(({ role, content }, index) =>
      folded(
        `${role === "user" ? "To the model" : "From the model"} · ${gist(content)}`,
        () => blocks(content, fold, call),
        index === last,
      ),
    ),
    sent.tools?.length ? folded(plural(sent.tools.length, "tool"), () => valueTree(sent.tools, "tools")) : null,
    !sent.tools && sent.toolNames.length ? h("p", { class: "small" }, `Tools: ${sent.toolNames.join(", ")}`) : null,
    sent.schema && folded("Schema of the reply", () => valueTree(sent.schema, "schema")),
  ];
}

/** What is made only when it is opened. */
function folded(title, make, open = false) {
  const details = h("details", { class: "folded" }, h("summary", {}, title));
  const unfold = () =>
    details.open && details.childElementCount === 1 && details.append(h("div", { class: "inside" }, make()));
  details.addEventListener("toggle", unfold);
  details.open = open;
  unfold();
  return details;
}

function gist(content) {
  const text = content.map(oneLine).join(" ").replace(/\s+/g, " ").trim();
  return text.length > 90 ? `${beginning(text, 90)}…` : text || "nothing";
}

function oneLine(block) {
  if (block.type === "tool_use") return `calls ${block.name}`;
  if (block.type === "tool_result")
    return `brings ${typeof block.content === "string" ? beginning(block.content, 120) : "a result"}`;
  return beginning(block.text ?? block.thinking ?? block.type, 200);
}

/** Content blocks in the form of the Messages API, each as what it is. */
function blocks(content, fold, call) {
  return content.map((block) =>
    h("div", { class: `block ${block.type}` }, BLOCKS[block.type]?.(block, fold, call) ?? valueTree(block, block.type)),
  );
}

const BLOCKS = {
  text: ({ text }) => longText(text, { name: "text" }),
  thinking: ({ thinking }) => folded("Thoughts", () => longText(thinking ?? "", { name: "thoughts" })),
  tool_use: (block, fold, call) => {
    const tool = fold.tools.find(
      (each) => each.callId === block.id && each.taskId === call.taskId && each.attempt === call.attempt,
    );
    return [
      h("p", {}, "Calls ", tool ? link(toTool(tool), block.name) : h("code", {}, block.name)),
      valueTree(block.input, "input"),
    ];
  },
  tool_result: ({ content, is_error: failed }) => [
    h("p", { class: failed ? "wrong" : "quiet small" }, failed ? "✕ A tool failed" : "A tool brought"),
    typeof content === "string" ? longText(content, { name: "result" }) : valueTree(content, "result"),
  ],
};
