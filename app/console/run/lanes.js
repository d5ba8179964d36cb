import { h } from "../dom.js";

export function lanesView() {
  return { element: h("div"), draw() {} };
}
