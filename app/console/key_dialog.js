/** Asking for a key of the API, where the service wants one or takes the one there is no more. */

import { flawOf } from "./api.js";
import { ask, field } from "./dialog.js";
import { h } from "./dom.js";

const WHY =
  "This service wants a key of its API. It is kept for as long as this tab is open, and is sent as a header alone.";

/** The key that somebody types; null when they would rather not. `problem` is the refusal that led here. */
export async function askForKey(problem) {
  const input = h("input", {
    id: "key", name: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true,
    on: { input: () => input.setCustomValidity(flawOf(input.value.trim()) ?? "") },
  });
  const why = h("p", {}, problem.code === "key_missing" ? WHY : problem.message);
  const given = await ask("A key, please", [why, field("Key", input)], { action: "Use it" });
  return given?.get("key").trim() || null;
}
