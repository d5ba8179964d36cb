/** A tool call: what went in, what came out, and what it took. */

import { h } from "../../dom.js";
import { facts } from "../../facts.js";
import { count, duration, moment } from "../../format.js";
import { around } from "./attempt.js";
import { link, problem, state, taskLinks, toAttempt, toCall, toEvent, toTool } from "./parts.js";
import { longText, valueTree } from "./texts.js";

const EFFECTS = {
  read: "reads; may be repeated freely",
  idempotent: "may be repeated with the same key",
  once: "is done once at most",
};

export function toolDetail(store, tool) {
  const { fold } = store;
  const began = fold.events[tool.seq - 1].data;
  const end = tool.endSeq ? fold.events[tool.endSeq - 1].data : null;
  const group = fold.tools.filter((each) => each.taskId === tool.taskId && each.attempt === tool.attempt);
  const input = began.input ?? end?.input ?? null;
  return {
    kind: "Tool call",
    title: `${tool.name}, ${group.indexOf(tool) + 1} of ${group.length}`,
    around: around(group, tool, toTool, "tool call"),
    sections: [
      ["facts", null, `${tool.seq} ${tool.endSeq} ${fold.finishedAt}`, () => about(fold, tool, began, end)],
      end?.error && ["error", null, tool.endSeq, () => problem(end.error)],
      [
        "input",
        "Input",
        tool.seq,
        () => (input === null ? h("p", { class: "quiet" }, "Nothing.") : valueTree(input, "input")),
      ],
      typeof end?.output === "string" && ["output", "Output", tool.endSeq, () => output(end)],
    ],
  };
}

function about(fold, tool, began, end) {
  const asked = fold.calls.find(
    (call) => call.taskId === tool.taskId && call.attempt === tool.attempt && calls(fold, call, tool.callId),
  );
  return facts([
    ["State", state(tool.ok === null ? "running" : tool.ok ? "succeeded" : "failed")],
    [
      "For",
      [taskLinks([tool.taskId], fold), ", ", link(toAttempt(tool.taskId, tool.attempt), `attempt ${tool.attempt}`)],
    ],
    ["Asked for by", asked ? link(toCall(asked), `${asked.model}'s reply`) : null],
    ["Effect", EFFECTS[began.effect] ?? (tool.provider ? "run by the model's provider" : null)],
    ["Began", moment(tool.startedAt)],
    ["Took", end ? duration(end.duration_ms) : `${duration(fold.until() - tool.startedAt)} so far`],
    ["Left out of the middle", end?.omitted ? `${count(end.omitted)} characters` : null],
    ["Key", began.key ? h("code", {}, began.key) : null],
    ["Event", link(toEvent(tool.seq), String(tool.seq))],
  ]);
}

function calls(fold, call, id) {
  return (fold.events[call.seq - 1].data.content ?? []).some((block) => block.id === id);
}

/** What it brought: as a tree where it is JSON. */
function output({ output: text }) {
  const looksLikeJson = /^\s*[[{]/.test(text);
  try {
    if (looksLikeJson) return valueTree(JSON.parse(text), "output");
  } catch {
    // It only looked so.
  }
  return longText(text, { name: "output" });
}
