/** Deadlines that tick. */

import { say } from "../dom.js";
import { duration, moment } from "../format.js";

const SECOND = 1000;

/** Say in `element` how long there is left until a moment, and what is done then. */
export function tick(element, expiresAt, then, now = Date.now()) {
  const left = Math.ceil((expiresAt - now) / SECOND) * SECOND;
  const what = then.replace(/\.$/, "");
  if (left <= 0) return say(element, `The time is up: ${what}.`);
  return say(element, `In ${duration(left)} (${moment(expiresAt)}) ${what}.`);
}
