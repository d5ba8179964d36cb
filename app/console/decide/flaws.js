/** What is to be mended before a plan can be saved, each with a way to its place. */

import { fill, h } from "../dom.js";
import { plural } from "../format.js";

/** `{element, show(flaws, tasks)}`; `onChoose(task, pointer)` is told which one somebody wants to see. */
export function flawsView(onChoose) {
  const element = h("div", { class: "flaws", role: "status" });
  let drawn = "[]";
  return { element, show };

  function show(flaws, tasks) {
    const form = JSON.stringify(flaws);
    if (form === drawn) return;
    drawn = form;
    fill(element, flaws.length > 0 && [h("p", { class: "wrong" }, `${plural(flaws.length, "thing")} to mend:`),
      h("ul", {}, flaws.map((flaw) => item(flaw, tasks[Number(flaw.pointer.split("/")[2])])))]);
  }

  function item({ pointer, detail }, task) {
    const click = () => onChoose(task, pointer);
    const name = task && (task.title || task.id || "a task without a name");
    return h("li", {}, task && h("button", { type: "button", class: "plain", on: { click } }, name), ` ${detail}`);
  }
}
