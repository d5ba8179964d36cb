import { h } from "../dom.js";

export function detailView() {
  return { element: h("div"), draw() {} };
}
