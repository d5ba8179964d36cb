/** A breaker as a card: its state in words, and the times in it, which tick. */

import { h, say, set } from "../dom.js";
import { ago, duration, plural } from "../format.js";
import { reasonOf } from "../run/words.js";

const SIGNS = { closed: "●", open: "✕", half_open: "◔" };

export class BreakerCard {
  #state = h("span", { class: "state push" });
  #words = h("p");
  #times = h("p", { class: "quiet small numbers" });
  #reset;
  #trip;

  /** `change("reset" | "trip", name)` is called when a person asks for it. */
  constructor({ name, kind }, change) {
    this.#reset = h("button", { "aria-label": `Reset ${name}`, on: { click: () => change("reset", name) } }, "Reset");
    this.#trip = h("button", {
      class: "danger", "aria-label": `Open ${name}`, on: { click: () => change("trip", name) },
    }, "Open it");
    const title = h("h2", {}, name.slice(name.indexOf(":") + 1));
    this.element = h("li", { class: "panel breaker", data: { breaker: name } },
      h("div", { class: "row" }, title, h("span", { class: "chip" }, kind), this.#state),
      this.#words, this.#times, h("div", { class: "actions" }, this.#reset, this.#trip));
  }

  /** Bring it up to date. */
  show(breaker) {
    const { state, reason, failures } = breaker;
    set(this.element, { data: { state } });
    say(this.#state, `${SIGNS[state]} ${state.replace("_", " ")}`);
    say(this.#words, wordsOf(breaker));
    say(this.#times, timesOf(breaker, Date.now()));
    this.#trip.hidden = reason === "tripped";
    this.#reset.hidden = state === "closed" && !failures;
  }
}

function wordsOf({ state, reason, failures }) {
  const counted = `${plural(failures, "failure")} in a row`;
  if (state === "closed") return failures ? `It is used, with ${counted}.` : "It is used.";
  if (reason === "tripped") return "Somebody opened it by hand. Nothing is sent there until somebody resets it.";
  const why = `${reasonOf(reason)}, ${counted}`;
  if (state === "open") return `It is left alone: ${why}.`;
  return `One call finds out whether it works again. It was left alone: ${why}.`;
}

function timesOf({ state, opened_at: openedAt, probe_at: probeAt }, now) {
  const left = probeAt ? Date.parse(probeAt) - now : null;
  const words = [openedAt && `opened ${ago(openedAt, now)}`];
  if (left !== null) words.push(probeIn(state, duration(Math.ceil(left / 1000) * 1000), left > 0));
  return words.filter(Boolean).join(" · ");
}

function probeIn(state, time, ahead) {
  if (state === "half_open") return ahead && `the call is waited for ${time} more`;
  return ahead ? `one call may try in ${time}` : "the next call tries it";
}
