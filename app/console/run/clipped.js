/** Text that fits: a drawing does not cut its own. */

const known = new Map();
const KEPT = 2000;
let pen;

/** The text, cut with an ellipsis where it is wider than `room` pixels in that font. */
export function clipped(text, font, room) {
  const name = `${font}|${Math.round(room)}|${text}`;
  if (!known.has(name)) {
    if (known.size > KEPT) known.clear();
    known.set(name, cut(text, font, room));
  }
  return known.get(name);
}

function cut(text, font, room) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  if (pen.measureText(text).width <= room) return text;
  let [fits, over] = [0, text.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= room) fits = middle;
    else over = middle;
  }
  return fits ? `${text.slice(0, fits).trimEnd()}…` : "";
}
