import { h } from "../dom.js";

export function graphView() {
  return { element: h("div"), draw() {} };
}
