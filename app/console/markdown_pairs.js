/** Which marks of a line of Markdown belong together, and what they make of it. */

const NESTED_DEEP = 16;

/** Make pairs of the marks from one on, and forget these. */
export function pair(marks, from) {
  const open = [];
  // How many openers of a kind were looked through in vain: nobody looks at them again.
  const lowest = new Map();
  for (const mark of marks.splice(from)) {
    if (mark.closes) closeWith(open, mark, lowest);
    if (mark.opens && mark.left) open.push(mark);
  }
}

function closeWith(open, closer, lowest) {
  while (closer.left) {
    const kind = `${closer.char}${closer.opens}${closer.length % 3}`;
    const bottom = lowest.get(kind) ?? 0;
    let at = open.length - 1;
    while (at >= bottom && !fits(open[at], closer)) at -= 1;
    if (at < bottom) {
      lowest.set(kind, open.length);
      return;
    }
    const opener = open[at];
    open.length = at + 1;
    for (const [name, value] of lowest) if (value > open.length) lowest.set(name, open.length);
    const length = closer.char === "~" || (opener.left >= 2 && closer.left >= 2) ? 2 : 1;
    const element = closer.char === "~" ? "del" : length === 2 ? "strong" : "em";
    opener.openings.push(element);
    closer.closings.push(element);
    opener.left -= length;
    closer.left -= length;
    if (!opener.left) open.pop();
  }
}

function fits(opener, closer) {
  if (opener.char !== closer.char) return false;
  const both = opener.closes || closer.opens;
  return !both || (opener.length + closer.length) % 3 !== 0 || (opener.length % 3 === 0 && closer.length % 3 === 0);
}

/** A piece once all pairs are made. A run of marks closes something, is left over as text, opens something. */
export function settled(piece) {
  if (piece.words) return { text: piece.words.join("") };
  if (!piece.mark) return piece;
  const { char, left, openings, closings } = piece.mark;
  const opened = openings.reverse().map((open) => ({ open }));
  return [...closings.map((close) => ({ close })), { text: char.repeat(left) }, ...opened];
}

/** The pieces without links in links, and without what is nested too deep to be told apart. */
export function nested(pieces) {
  const open = [];
  let links = 0;
  return pieces.filter((piece) => {
    if (piece.close) {
      const shown = open.pop();
      links -= shown && piece.close === "link" ? 1 : 0;
      return shown;
    }
    if (!piece.open) return piece.text !== "";
    const shown = open.length < NESTED_DEEP && !(piece.open === "link" && links);
    open.push(shown);
    links += shown && piece.open === "link" ? 1 : 0;
    return shown;
  });
}
