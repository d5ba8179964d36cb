/** The circuit breakers: what is left alone for a while since it kept failing, and how to say otherwise. */

import { get, post } from "../api.js";
import { ask } from "../dialog.js";
import { announce, fill, h, keep, say } from "../dom.js";
import { plural } from "../format.js";
import { every } from "../frames.js";
import { failure } from "../router.js";
import { BreakerCard } from "./breaker_card.js";

const LOOK_MS = 3000;
const TICK_MS = 1000;
const ORDER = ["open", "half_open", "closed"];
const NONE = "No breaker has counted a failure: all models, workers and tools are used.";
const WHAT_THEY_ARE = "Where a model, a worker or a tool keeps failing, its breaker opens: for a while nobody sends "
  + "anything there, on any replica. Then one call finds out whether it works again.";
const ASKED = {
  reset: {
    title: "Reset this breaker?", button: "Reset it",
    words: "It closes, and its failures are forgotten. What waits for it goes on within seconds.",
  },
  trip: {
    title: "Open this breaker?", button: "Open it",
    words: "Nothing is sent there until somebody resets it, by any replica. What is under way goes on.",
  },
};

export async function open({ root, signal }) {
  const list = h("ul", { class: "cards" });
  const trouble = h("div", { hidden: true });
  const summary = h("span", { class: "quiet" });
  const empty = h("section", { class: "panel empty", hidden: true }, h("p", {}, NONE), h("p", {}, WHAT_THEY_ARE));
  const cards = new Map();
  let breakers = [];
  const header = h("header", { class: "row" }, h("h1", {}, "Breakers"), summary, openingForm(change));
  fill(root, header, trouble, empty, list);

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
    const notClosed = breakers.filter(({ state }) => state !== "closed").length;
    say(summary, breakers.length ? `${plural(breakers.length, "breaker")}, ${notClosed} not closed` : "");
    empty.hidden = breakers.length > 0;
    list.hidden = !breakers.length;
    keep(list, [...breakers].sort(gravestFirst), { key: ({ name }) => name, make, change: (_, each) => show(each) });
  }

  function make(breaker) {
    cards.set(breaker.name, new BreakerCard(breaker, change));
    return cards.get(breaker.name).element;
  }

  function show(breaker) {
    cards.get(breaker.name).show(breaker);
  }

  /** Reset or trip a breaker, once the person has confirmed it. */
  async function change(what, name) {
    const { title, words, button } = ASKED[what];
    if (!(await ask(title, [h("p", {}, h("code", {}, name)), h("p", {}, words)], { action: button }))) return;
    try {
      await post(`/v1/breakers/${name.split("/").map(encodeURIComponent).join("/")}/${what}`);
      announce(what === "reset" ? `${name} is closed.` : `${name} is open.`);
    } catch (error) {
      announce(error.message);
    }
    await look();
  }
}

function gravestFirst(one, other) {
  return ORDER.indexOf(one.state) - ORDER.indexOf(other.state) || one.name.localeCompare(other.name);
}

/** A breaker that is not listed yet is opened by its name. */
function openingForm(change) {
  const input = h("input", {
    "aria-label": "Name of a breaker", placeholder: "model:claude-opus-5-5", required: true,
    spellcheck: "false", autocomplete: "off",
  });
  const submit = async (event) => {
    event.preventDefault();
    await change("trip", input.value.trim());
    input.value = "";
  };
  return h("form", { class: "row push", on: { submit } }, input, h("button", {}, "Open"));
}
