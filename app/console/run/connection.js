/** The line that says when the stream of events is away, since when, that it is back, and what is refused. */

import { fill, h } from "../dom.js";
import { moment } from "../format.js";
import { failure } from "../router.js";

const BACK_MS = 5000;

export function connectionView(store) {
  const element = h("div", { class: "connection", role: "status" });
  let drawn = [null, null];
  let since = null;
  let timer = null;
  return { element, draw };

  function draw() {
    const { streaming, refusal } = store;
    const [streamingBefore, refusedBefore] = drawn;
    if (streaming === streamingBefore && refusal === refusedBefore) return;
    drawn = [streaming, refusal];
    if (refusal || streaming === "away") clearTimeout(timer);
    if (refusal) fill(element, failure(refusal, () => store.again()));
    else if (streaming === "away") {
      since ??= Date.now();
      fill(element, h("p", { class: "notice" }, `The stream of events is away since ${moment(since)}. `,
        "What is shown may be behind; it is tried again until it is back."));
    } else if (since !== null) {
      since = null;
      fill(element, h("p", { class: "notice back" }, "The stream is back, and nothing is missing."));
      timer = setTimeout(() => fill(element), BACK_MS);
    } else if (refusedBefore) fill(element);
  }
}
