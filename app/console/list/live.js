/** Looking at a list again and again: often while something goes on in it, seldom else, ever more seldom in trouble. */

import { get, isRefusal, key, onKey } from "../api.js";
import { hasEnded } from "../format.js";

const BUSY_MS = 2_000;
const CALM_MS = 10_000;
const LONGEST_MS = 60_000;

/**
 * Ask for a page of runs until the signal, never twice at once, and not in a tab that nobody sees.
 *
 * `onPage(page)` gets each page; `onTrouble(error, retryAt)` is told why there is none, and when it is asked for again
 * (null: not by itself, as the request is at fault). Gives `now()`, which asks at once.
 */
export function look(path, { signal, onPage, onTrouble }) {
  let timer = null;
  let asking = false;
  let failures = 0;
  const later = (ms) => {
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(now, ms);
    return Date.now() + ms;
  };
  signal.addEventListener("abort", () => clearTimeout(timer));
  document.addEventListener("visibilitychange", () => document.hidden || now(), { signal });
  onKey(() => key() && now(), signal);
  now();
  return { now };

  async function now() {
    if (asking || signal.aborted) return;
    if (document.hidden) return clearTimeout(timer);
    asking = true;
    try {
      const page = await get(path, { signal });
      failures = 0;
      onPage(page);
      later(page.data.every(hasEnded) ? CALM_MS : BUSY_MS);
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      onTrouble(error, isRefusal(error) ? null : later(Math.min(BUSY_MS * 2 ** failures, LONGEST_MS)));
    } finally {
      asking = false;
    }
  }
}
