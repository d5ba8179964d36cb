import { h } from "../dom.js";

export function decideView() {
  return { element: h("div"), draw() {} };
}
