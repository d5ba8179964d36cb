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

/** How wide a text is in a font, in pixels. */
export function widthOf(text, font) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text).width;
}

function cut(text, font, room) {
  if (widthOf(text, font) <= room) return text;
  let [fits, over] = [0, text.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (widthOf(`${text.slice(0, middle)}…`, font) <= room) fits = middle;
    else over = middle;
  }
  return fits ? `${text.slice(0, fits).trimEnd()}…` : "";
}
