/** The circuit breakers: what is left alone for a while since it kept failing, and how to say otherwise. */

import { get, post } from "../api.js";
import { announce, fill, h, keep, say, set } from "../dom.js";
import { ago, duration, plural } from "../format.js";
import { every } from "../frames.js";
import { failure } from "../router.js";
import { reasonOf } from "../run/words.js";

const LOOK_MS = 3000;
const TICK_MS = 1000;
const SIGNS = { closed: "●", open: "✕", half_open: "◔" };
const ORDER = ["open", "half_open", "closed"];

export async function open({ root, signal }) {
  const list = h("ul", { class: "cards" });
  const trouble = h("div", { hidden: true });
  const summary = h("span", { class: "quiet" });
  const empty = h("section", { class: "panel empty", hidden: true },
    h("p", {}, "No breaker has counted a failure: all models, workers and tools are used."),
    h("p", {}, "Where a model, a worker or a tool keeps failing, its breaker opens: for a while nobody sends anything there, on any replica. Then one call finds out whether it works again."));
  fill(root, h("header", { class: "row" }, h("h1", {}, "Breakers"), summary, tripping(look)), trouble, empty, list);
  let breakers = [];

  await look();
  every(LOOK_MS, look, signal);
  every(TICK_MS, draw, signal);
  return { title: "Breakers" };

  async function look() {
    try {
      breakers = (await get("/v1/breakers", { signal })).data;
      trouble.hidden = true;
      draw();
    } catch (error) {
      if (signal.aborted) return;
      trouble.hidden = false;
      fill(trouble, failure(error, look));
    }
  }

  function draw() {
    const sorted = [...breakers].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || one.name.localeCompare(other.name));
    const open = breakers.filter(({ state }) => state !== "closed").length;
    say(summary, breakers.length ? `${plural(breakers.length, "breaker")}, ${open} not closed` : "");
    empty.hidden = breakers.length > 0;
    list.hidden = !breakers.length;
    keep(list, sorted, { key: ({ name }) => name, make: (breaker) => cardOf(breaker, look), change: (card, breaker) => card.show(breaker) });
  }
}

/** A card that is brought up to date by its `show`. */
function cardOf({ name, kind }, look) {
  const state = h("span", { class: "state push" });
  const words = h("p");
  const times = h("p", { class: "quiet small numbers" });
  const reset = h("button", { on: { click: () => change("reset", name, look) } }, "Reset");
  const trip = h("button", { class: "danger", on: { click: () => change("trip", name, look) } }, "Open it");
  const card = h("li", { class: "panel breaker", data: { breaker: name } },
    h("div", { class: "row" }, h("h2", {}, name.slice(name.indexOf(":") + 1)), h("span", { class: "chip" }, kind), state),
    words, times, h("div", { class: "actions" }, reset, trip));
  reset.setAttribute("aria-label", `Reset ${name}`);
  trip.setAttribute("aria-label", `Open ${name}`);
  card.show = (breaker) => {
    set(card, { data: { state: breaker.state } });
    say(state, `${SIGNS[breaker.state]} ${breaker.state.replace("_", " ")}`);
    say(words, wordsOf(breaker));
    say(times, timesOf(breaker));
    trip.hidden = breaker.reason === "tripped";
    reset.hidden = breaker.state === "closed" && !breaker.failures;
  };
  return card;
}

function wordsOf({ state, reason, failures }) {
  if (state === "closed") return failures ? `It is used. ${plural(failures, "call")} in a row failed; at five it opens.` : "It is used.";
  if (reason === "tripped") return "Somebody opened it by hand. Nothing is sent there until somebody resets it.";
  const why = `${reasonOf(reason)}, ${plural(failures, "failure")} in a row`;
  return state === "open" ? `It is left alone: ${why}.` : `One call finds out whether it works again. It was left alone: ${why}.`;
}

function timesOf({ state, opened_at: openedAt, probe_at: probeAt }, now = Date.now()) {
  const left = probeAt ? Date.parse(probeAt) - now : null;
  return [
    openedAt && `opened ${ago(openedAt, now)}`,
    state === "open" && left !== null && (left > 0 ? `one call may try in ${duration(Math.ceil(left / 1000) * 1000)}` : "the next call tries it"),
    state === "half_open" && left !== null && left > 0 && `the call is waited for ${duration(Math.ceil(left / 1000) * 1000)} more`,
  ].filter(Boolean).join(" · ");
}

const ASKED = {
  reset: { title: "Reset this breaker?", words: "It closes, and its failures are forgotten. What waits for it goes on within seconds.", button: "Reset it" },
  trip: { title: "Open this breaker?", words: "Nothing is sent there until somebody resets it, by any replica. What is under way goes on.", button: "Open it" },
};

async function change(what, name, look) {
  const { title, words, button } = ASKED[what];
  if (!(await confirmed(title, [h("p", {}, h("code", {}, name)), h("p", {}, words)], button))) return;
  try {
    await post(`/v1/breakers/${name.split("/").map(encodeURIComponent).join("/")}/${what}`);
    announce(what === "reset" ? `${name} is closed.` : `${name} is open.`);
  } catch (error) {
    announce(error.message);
  }
  await look();
}

/** Ask before something is done; what was asked says whether. */
export function confirmed(title, content, button) {
  return new Promise((resolve) => {
    let yes = false;
    const dialog = h("dialog", { "aria-labelledby": "confirm-title" }, h("form", { method: "dialog" },
      h("h2", { id: "confirm-title" }, title), content,
      h("div", { class: "actions" }, h("button", { class: "main", on: { click: () => { yes = true; } } }, button), h("button", {}, "No"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(yes);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A breaker that is not listed yet is opened by its name. */
function tripping(look) {
  const input = h("input", { "aria-label": "Name of a breaker", placeholder: "model:claude-opus-5-5", spellcheck: "false", autocomplete: "off", required: true });
  return h("form", { class: "row push", on: { submit: async (event) => {
    event.preventDefault();
    await change("trip", input.value.trim(), look);
    input.value = "";
  } } }, input, h("button", {}, "Open"));
}
