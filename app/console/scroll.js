/**
 * Where one was on a page, for each entry of the history: back and forward lead there, and so does a reload. The
 * browser cannot do it, as what was there is read from the service first.
 */

const PLACES = "chargehand.scroll";
const GROWS_MS = 5000;
const TAKEN_OVER = ["wheel", "touchmove", "pointerdown", "keydown"];
const places = new Map(kept());
let entry = null;
let stop = () => {};

/** Begin: from here on it is this module that moves the page. */
export function watchScroll() {
  history.scrollRestoration = "manual";
  window.addEventListener("pagehide", keep);
  entered();
}

/** The address is about to become another one: remember where one is. */
export function left() {
  stop();
  if (entry !== null) places.set(entry, scrollY);
}

/** The state of a new entry of the history. */
export function newEntry() {
  return { entry: `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}` };
}

/** The address has become another one. */
export function entered() {
  if (!history.state?.entry) history.replaceState(newEntry(), "");
  entry = history.state.entry;
}

/** Go to where one was, if one was here before. It waits for the page to grow as tall, for a while. */
export function scrollBack() {
  stop();
  const top = places.get(entry);
  if (top === undefined || reached(top)) return;
  const grown = new ResizeObserver(() => reached(top) && stop());
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), GROWS_MS);
  over.signal.addEventListener("abort", () => {
    grown.disconnect();
    clearTimeout(timer);
  });
  stop = () => over.abort();
  for (const each of TAKEN_OVER) window.addEventListener(each, stop, { passive: true, signal: over.signal });
  grown.observe(document.body);
}

function reached(top) {
  scrollTo({ top, behavior: "instant" });
  return Math.abs(scrollY - top) < 2;
}

function keep() {
  left();
  try {
    sessionStorage.setItem(PLACES, JSON.stringify([...places].slice(-100)));
  } catch {
    // A browser that stores nothing begins at the top after a reload.
  }
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACES)) ?? [];
  } catch {
    return [];
  }
}
