/**
 * Whether anybody sees this page. A browser opens six connections to a host (HTTP/1.1), for all its tabs together, and
 * a page that was left lives on behind the back button: what keeps a connection open gives it up meanwhile.
 */

const UNSEEN_MS = 10_000;
let leaving = new AbortController();
let waiting = [];
let timer = null;

document.addEventListener("visibilitychange", look);
window.addEventListener("pagehide", leave);
window.addEventListener("pageshow", look);
look();

/** A signal that is aborted once nobody sees the page: ten seconds after it was hidden, and at once when it is left. */
export function untilUnseen() {
  return leaving.signal;
}

/** Waits until somebody sees the page. */
export async function seen() {
  if (leaving.signal.aborted) await new Promise((resolve) => waiting.push(resolve));
}

function look() {
  clearTimeout(timer);
  if (document.hidden) timer = setTimeout(leave, UNSEEN_MS);
  else if (leaving.signal.aborted) comeBack();
}

function leave() {
  clearTimeout(timer);
  leaving.abort();
}

function comeBack() {
  leaving = new AbortController();
  for (const resolve of waiting.splice(0)) resolve();
}
