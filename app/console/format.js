/** How numbers, times and states read. Money is a decimal string of US dollars, as the API has it. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WHOLE = new Intl.NumberFormat("en-US");
const LARGE = [[1e12, "T"], [1e9, "B"], [1e6, "M"]];

/** Money: `$0.0123`, `$2.50`; as many digits as say something. */
export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  const value = Number(usd);
  if (value === 0) return "$0";
  if (value < 0.0001) return "<$0.0001";
  return `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
}

/** A span of time: `340 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
  return `${Math.floor(ms / DAY)} d ${Math.floor((ms % DAY) / HOUR)} h`;
}

/** A moment in the reader's own zone: `14:03:22`, with the day when it is not today's. */
export function moment(at) {
  if (!at) return "–";
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour12: false });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/** How long ago: `12 s ago`. */
export function ago(at, now = Date.now()) {
  return at ? `${duration(Math.max(0, Math.floor((now - Date.parse(at)) / SECOND) * SECOND || 0))} ago` : "–";
}

/** Many: `12,345`, `1.2 M`, `256 M`, `2.6 B`. */
export function count(number) {
  if (number === null || number === undefined) return "–";
  if (number < 1_000_000) return WHOLE.format(number);
  // What would be rounded to a thousand of one unit is one of the next.
  const [unit, sign] = LARGE.find(([each]) => number >= 0.9995 * each);
  const many = number / unit;
  return `${many < 99.95 ? many.toFixed(1) : WHOLE.format(Math.round(many))} ${sign}`;
}

/** The first so many characters of a text; none is cut in two. */
export function beginning(text, most) {
  return text.length <= most ? text : Array.from(text.slice(0, 2 * most)).slice(0, most).join("");
}

/** Bytes: `812 B`, `1.8 kB`. */
export function bytes(number) {
  if (number < 1000) return `${number} B`;
  return number < 1_000_000 ? `${(number / 1000).toFixed(1)} kB` : `${(number / 1_000_000).toFixed(1)} MB`;
}

/** `1 task`, `2 tasks`. */
export function plural(number, noun, nouns = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

/** A sign for each state of runs and tasks, so that colour is never all that tells it. */
export const SIGNS = {
  queued: "○",
  pending: "○",
  running: "◐",
  waiting: "◔",
  succeeded: "●",
  partial: "◒",
  failed: "✕",
  skipped: "↷",
  cancelled: "⊘",
};

const WAITS = {
  plan_approval: "waits for approval of its plan",
  answer: "waits for an answer",
  children: "waits for nested runs",
  provider: "waits for its model provider",
};

/** The state of a run in words: `running: executing`, `waits for an answer`, `partial: budget exhausted`. */
export function stateOf(run) {
  if (run.status === "waiting") return WAITS[run.waiting_for] ?? "waits";
  const more = run.status === "running" ? run.phase : run.stop_reason;
  const words = [null, "completed", run.status].includes(more) ? [run.status] : [run.status, more.replaceAll("_", " ")];
  return words.join(": ");
}

/** Whether a run has ended. */
export function hasEnded(run) {
  return ["succeeded", "partial", "failed", "cancelled"].includes(run.status);
}
