/** An answer while it is made: what the supervisor is writing just now, and what the tasks have brought so far. */

import { h, keep, say } from "../dom.js";
import { markdown } from "../markdown.js";
import { atMostEvery } from "../frames.js";

const DRAWN_MS = 200;
const WRITTEN = "It is checked once it is whole; until then nothing vouches for it.";
const ESCAPES = { n: "\n", t: "\t", r: "", b: "", f: "" };

/** The answer in a reply that is JSON, may break off anywhere, and may lack its beginning; null before it begins. */
export function writtenAnswer(text) {
  const begun = /^\s*(?:```(?:json)?\s*)?\{/.test(text);
  const field = /"answer"\s*:\s*"/.exec(text);
  if (begun && !field) return null;
  const from = field ? field.index + field[0].length : 0;
  let answer = "";
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === "\"" && (field || /^"\s*[,}]/.test(text.slice(at, at + 20)))) break;
    if (text[at] !== "\\") answer += text[at];
    else {
      const code = /^u([0-9a-fA-F]{4})/.exec(text.slice(at + 1, at + 6));
      const next = text[at + 1] ?? "";
      answer += code ? String.fromCharCode(Number.parseInt(code[1], 16)) : ESCAPES[next] ?? next;
      at += code ? 5 : 1;
    }
  }
  return answer;
}

/** What there is to see while there is no result yet. */
export function draftView(store, tasks) {
  const heading = h("h2");
  const words = h("p", { class: "quiet" });
  const written = h("div", { class: "prose answer-text", "aria-busy": "true" });
  const brought = h("div", { class: "stack" });
  const element = h("div", { class: "stack" },
    h("section", { class: "panel document" }, h("header", {}, heading), words, written),
    h("section", { class: "panel outputs" }, h("header", {}, h("h2", {}, "What tasks have brought so far")), brought));
  let answer = null;
  let read = null;
  const write = atMostEvery(DRAWN_MS, () => {
    answer = read === undefined ? null : writtenAnswer(read);
    if (answer !== null) written.replaceChildren(...markdown(answer));
    say(heading, answer === null ? "There is no answer yet" : "The answer is being written");
    written.hidden = answer === null;
  });
  return { element, draw };

  function draw() {
    const text = store.fold.writing.get("synthesize");
    const delivered = [...store.fold.tasks.values()].filter((task) => task.output);
    if (read !== text) {
      read = text;
      write();
    }
    say(words, answer === null ? waitsFor(store, delivered.length) : WRITTEN);
    element.lastChild.hidden = !delivered.length;
    keep(brought, delivered, { key: (task) => task.id, make: (task) => made(task, tasks) });
  }
}

function made({ id, output, worker }, tasks) {
  return h("article", { class: "output", data: { state: "succeeded" } },
    h("header", { class: "row" }, h("h3", {}, tasks.to(id)), h("span", { class: "chip" }, worker)),
      h("p", {}, output.summary ?? ""));
}

function waitsFor({ run }, delivered) {
  const { total } = run.progress.tasks;
  if (run.status === "waiting") return "The run waits. Its answer is made once its tasks have ended.";
  if (run.phase === "synthesizing") return "The results are being put together.";
  if (run.phase === "reviewing") return "A critic looks at the answer.";
  return total ? `It is made once the tasks have ended: ${delivered} of ${total} have delivered.`
    : "It is made once there is a plan and its tasks have ended.";
}
