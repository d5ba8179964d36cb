/** Text that is being written right now. */

import { h } from "../../dom.js";
import { reachable } from "./texts.js";

const named = (text) => reachable(text, "text that is being written");

/** The section of the texts that are being written at places that `fits` takes; null when there are none. */
export function writing(fold, fits) {
  const found = [...fold.writing].filter(([place, text]) => fits(place) && text);
  if (!found.length) return null;
  const stamp = found.map(([place, text]) => `${place} ${text.length} ${text.slice(-12)}`).join("\n");
  return [
    "writing",
    "Being written",
    stamp,
    () => found.map(([, text]) => h("pre", { class: "text written", "aria-live": "off", ...named(text) }, text)),
  ];
}
