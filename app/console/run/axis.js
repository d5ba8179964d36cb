/**
 * The time axis of the lanes. Busy stretches are drawn to one scale; a quiet stretch that is long beside them (a run
 * may wait for days for an approval) is broken: it has one short width whatever it lasts. Moments are milliseconds.
 */

/** The width of a broken stretch. */
export const BREAK_PX = 40;
/** A quiet stretch is broken when it is longer than this, and than this share of all that is busy. */
const QUIET_MS = 2000;
const QUIET_SHARE = 0.2;
const TICK_PX = 84;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 7, 28, 91, 365].map((each) => each * DAY),
];

/** Stretches that may overlap as such that do not, in order; those outside `from` and `to` are cut. */
export function joined(stretches, from, to) {
  const inside = stretches
    .map((each) => ({ from: Math.max(each.from, from), to: Math.min(each.to, to) }))
    .filter((each) => each.to >= each.from)
    .sort((one, other) => one.from - other.from);
  const whole = [];
  for (const each of inside) {
    const last = whole.at(-1);
    if (last && each.from <= last.to) last.to = Math.max(last.to, each.to);
    else whole.push(each);
  }
  return whole;
}

/** What is left of the stretches where `holes` are taken out of them. */
export function without(stretches, holes) {
  return holes.reduce(
    (left, hole) =>
      left
        .flatMap((each) => [
          { from: each.from, to: Math.min(each.to, hole.from) },
          { from: Math.max(each.from, hole.to), to: each.to },
        ])
        .filter((each) => each.to > each.from),
    stretches,
  );
}

/** The quiet stretches between `from` and `to` that are to be broken. */
export function breaksOf(busy, from, to) {
  const whole = joined(busy, from, to);
  const worked = whole.reduce((sum, each) => sum + each.to - each.from, 0);
  if (!worked) return [];
  const bound = Math.max(QUIET_MS, worked * QUIET_SHARE);
  return without([{ from, to }], whole).filter((each) => each.to - each.from > bound);
}

/** The scale at which all of it has this width, in pixels a millisecond. */
export function scaleToFit({ from, to, breaks }, width) {
  const drawn = to - from - breaks.reduce((sum, each) => sum + each.to - each.from, 0);
  const room = Math.max(width - breaks.length * BREAK_PX, width / 4);
  return room / Math.max(drawn, 1);
}

/** Moments as places and back, at a scale in pixels a millisecond. */
export class Axis {
  constructor({ from, to, breaks }, scale) {
    Object.assign(this, { from, to, scale });
    this.pieces = [];
    let x = 0;
    const add = (start, end, broken) => {
      if (end <= start) return;
      const width = broken ? BREAK_PX : (end - start) * scale;
      this.pieces.push({ from: start, to: end, x, width, broken });
      x += width;
    };
    let at = from;
    for (const each of breaks) {
      add(at, each.from, false);
      add(each.from, each.to, true);
      at = each.to;
    }
    add(at, to, false);
    this.width = x;
  }

  /** The place of a moment; moments beyond the ends are at the ends. */
  x(at) {
    const piece = this.pieces.find((each) => at <= each.to) ?? this.pieces.at(-1);
    if (!piece) return 0;
    const inside = Math.min(Math.max(at - piece.from, 0), piece.to - piece.from);
    return piece.x + (piece.width * inside) / (piece.to - piece.from);
  }

  /** The moment at a place. */
  at(x) {
    const piece = this.pieces.find((each) => x <= each.x + each.width) ?? this.pieces.at(-1);
    if (!piece) return this.from;
    const inside = Math.min(Math.max(x - piece.x, 0), piece.width);
    return piece.from + ((piece.to - piece.from) * inside) / piece.width;
  }

  /** The ticks between two places: `{x, text}`; none within what is broken, where a tick would mean nothing. */
  ticks(left, right) {
    const step = STEPS.find((each) => each * this.scale >= TICK_PX) ?? STEPS.at(-1);
    const ticks = [];
    for (const piece of this.pieces.filter((each) => !each.broken && each.x + each.width >= left && each.x <= right)) {
      const first = Math.max(this.at(left), piece.from) - this.from;
      const last = Math.min(this.at(right), piece.to) - this.from;
      for (let offset = Math.ceil(first / step) * step; offset <= last; offset += step) {
        const x = this.x(this.from + offset);
        if (piece.x === 0 || x - piece.x > TICK_PX / 4) ticks.push({ x, text: elapsed(offset, step) });
      }
    }
    return ticks;
  }

  /** The broken stretches: `{from, to, x, width}`. */
  get breaks() {
    return this.pieces.filter((each) => each.broken);
  }
}

/** A time since the start as a clock has it: `0.25 s`, `42 s`, `3:05`, `1:02:05`, `2 d 3:05:00`. */
export function elapsed(ms, step = SECOND) {
  const digits = step >= SECOND ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(digits)} s`;
  const two = (number) => String(number).padStart(2, "0");
  const seconds = ((ms % MINUTE) / SECOND).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  if (ms < HOUR) return `${minutes}:${seconds}`;
  const clock = `${Math.floor((ms % DAY) / HOUR)}:${two(minutes)}:${seconds}`;
  return ms < DAY ? clock : `${Math.floor(ms / DAY)} d ${clock}`;
}
