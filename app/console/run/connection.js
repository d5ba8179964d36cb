/** The line that says when the stream of events is away, since when, and that it is back. */

import { fill, h } from "../dom.js";
import { moment } from "../format.js";
import { failure } from "../router.js";

const BACK_MS = 5000;

export function connectionView(store) {
  const element = h("div", { class: "connection", role: "status" });
  let state = null;
  let since = null;
  let timer = null;
  return { element, draw };

  function draw() {
    if (store.streaming === state) return;
    const before = state;
    state = store.streaming;
    if (state === "away") {
      clearTimeout(timer);
      since ??= Date.now();
      fill(element, h("p", { class: "notice" }, `The stream of events is away since ${moment(since)}. `,
        "What is shown may be behind; it is tried again until it is back."));
    } else if (state === "refused") fill(element, failure(store.problem));
    else if (before === "away") {
      since = null;
      fill(element, h("p", { class: "notice back" }, "The stream is back, and nothing is missing."));
      timer = setTimeout(() => fill(element), BACK_MS);
    }
  }
}
