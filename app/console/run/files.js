import { h } from "../dom.js";

export function filesView() {
  return { element: h("div"), draw() {} };
}
