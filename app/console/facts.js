/** Facts with their names, as a list. */

import { h } from "./dom.js";

/** A list of `[name, value]`; those that say nothing are left out. */
export function facts(entries) {
  const said = entries.filter(([, value]) => value || value === 0);
  return h("dl", { class: "facts" }, said.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}
