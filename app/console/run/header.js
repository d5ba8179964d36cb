import { h } from "../dom.js";

export function headerView() {
  return { element: h("div"), draw() {} };
}
