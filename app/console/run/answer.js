import { h } from "../dom.js";

export function answerView() {
  return { element: h("div"), draw() {} };
}
