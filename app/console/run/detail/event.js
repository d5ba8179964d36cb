/** An event: what it says in words, and all of it. */

import { h } from "../../dom.js";
import { facts } from "../../facts.js";
import { moment } from "../../format.js";
import { wordsOf } from "../log_words.js";
import { link, taskLinks, toAttempt, toCall, toEvent, toTool } from "./parts.js";
import { valueTree } from "./texts.js";

export function eventDetail(store, event) {
  const { fold } = store;
  const { seq, type } = event;
  const neighbour = (number) => (fold.events[number - 1] ? toEvent(number) : null);
  return {
    kind: "Event",
    title: `${seq} · ${type}`,
    around: { before: neighbour(seq - 1), after: neighbour(seq + 1), noun: "event" },
    sections: [
      ["words", null, seq, () => h("p", { class: "text" }, wordsOf(event))],
      ["facts", null, `${seq} ${fold.tasks.size}`, () => about(fold, event)],
      ["json", "All of it", seq, () => valueTree(event, "event")],
    ],
  };
}

function about(fold, { seq, at, task_id: taskId, attempt }) {
  const call = fold.calls.find((each) => each.seq === seq);
  const tool = fold.tools.find((each) => each.seq === seq || each.endSeq === seq);
  return facts([
    ["At", moment(at)],
    ["Task", taskId ? taskLinks([taskId], fold) : null],
    ["Attempt", taskId && attempt ? link(toAttempt(taskId, attempt), String(attempt)) : null],
    ["Model call", call ? link(toCall(call), "prompt and reply") : null],
    ["Tool call", tool ? link(toTool(tool), tool.name) : null],
  ]);
}
