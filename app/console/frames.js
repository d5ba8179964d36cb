/** Doing things once a frame: however many events arrive between two frames, they are drawn once. */

const HIDDEN_MS = 250;

/** A function that has `draw` called once before the next frame; in a tab that nobody sees, four times a second. */
export function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    const run = () => {
      if (!asked) return;
      asked = false;
      draw();
    };
    if (document.hidden) setTimeout(run, HIDDEN_MS);
    else requestAnimationFrame(run);
  };
}

/** A function that has `work` done at once and then at most every `ms`; work that is asked for meanwhile follows. */
export function atMostEvery(ms, work) {
  let timer = null;
  let again = false;
  const run = async () => {
    again = false;
    timer = setTimeout(() => {
      timer = null;
      if (again) run();
    }, ms);
    await work();
  };
  const ask = () => {
    if (timer) again = true;
    else run();
  };
  ask.stop = () => {
    clearTimeout(timer);
    timer = null;
    again = false;
  };
  return ask;
}

/** Call `tick` every `ms` until the signal; not in a tab that nobody sees, and at once when it is seen again. */
export function every(ms, tick, signal) {
  const timer = setInterval(() => document.hidden || tick(), ms);
  const seen = () => document.hidden || tick();
  document.addEventListener("visibilitychange", seen, { signal });
  signal.addEventListener("abort", () => clearInterval(timer));
}
