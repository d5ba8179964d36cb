/**
 * What is different between two texts, word by word: the shortest edit (E. W. Myers, "An O(ND) Difference Algorithm and
 * Its Variations", 1986), bounded. Texts that differ by more are compared line by line, and else one is put for the
 * other.
 */

const MOST_EDITS = 600;

/**
 * The pieces in order: `{kind: "same" | "added" | "removed", text}`. What is the same and removed together is the text
 * before, what is the same and added the text after.
 */
export function difference(before, after) {
  for (const cut of [words, lines]) {
    const found = edits(cut(before), cut(after));
    if (found) return joined(smoothed(found));
  }
  return joined([
    ["removed", before],
    ["added", after],
  ]);
}

const words = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
const lines = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];

/** The edits as `[kind, text]`; null when there are more than the bound. */
function edits(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const middle = shortest(before.slice(start, before.length - end), after.slice(start, after.length - end));
  if (!middle) return null;
  const same = (from, to) => before.slice(from, to).map((text) => ["same", text]);
  return [...same(0, start), ...middle, ...same(before.length - end, before.length)];
}

/** Myers' greedy algorithm: how far one comes with so many edits on each diagonal, until the end is reached. */
function shortest(before, after) {
  const [width, height] = [before.length, after.length];
  const reached = [];
  let far = new Map([[1, 0]]);
  for (let edit = 0; edit <= Math.min(MOST_EDITS, width + height); edit += 1) {
    reached.push(new Map(far));
    for (let diagonal = -edit; diagonal <= edit; diagonal += 2) {
      let x = steppedDown(far, diagonal, edit) ? far.get(diagonal + 1) : far.get(diagonal - 1) + 1;
      while (x < width && x - diagonal < height && before[x] === after[x - diagonal]) x += 1;
      far.set(diagonal, x);
      if (x >= width && x - diagonal >= height) return wayBack(reached, before, after, edit);
    }
  }
  return null;
}

function steppedDown(far, diagonal, edit) {
  return diagonal === -edit || (diagonal !== edit && (far.get(diagonal - 1) ?? -1) < (far.get(diagonal + 1) ?? -1));
}

function wayBack(reached, before, after, last) {
  const found = [];
  let [x, y] = [before.length, after.length];
  for (let edit = last; edit >= 0; edit -= 1) {
    const far = reached[edit];
    const down = steppedDown(far, x - y, edit);
    const diagonal = x - y + (down ? 1 : -1);
    const fromX = far.get(diagonal);
    const fromY = fromX - diagonal;
    for (const start = down ? fromX : fromX + 1; x > start; x -= 1) found.push(["same", before[x - 1]]);
    if (edit > 0) found.push(down ? ["added", after[fromY]] : ["removed", before[fromX]]);
    [x, y] = [fromX, fromY];
  }
  return found.reverse();
}

/** A space between two words that both are others is as well another one: whole phrases read better. */
function smoothed(found) {
  return found.flatMap(([kind, text], index) => {
    const between = found[index - 1]?.[0] ?? "same";
    const next = found[index + 1]?.[0] ?? "same";
    if (kind !== "same" || text.trim() || between === "same" || next === "same") return [[kind, text]];
    return [
      ["removed", text],
      ["added", text],
    ];
  });
}

/** Pieces of one kind in one; of what is replaced first all that is gone, then all that is new. */
function joined(found) {
  const pieces = [];
  let gone = "";
  let come = "";
  const flush = () => {
    if (gone) pieces.push({ kind: "removed", text: gone });
    if (come) pieces.push({ kind: "added", text: come });
    [gone, come] = ["", ""];
  };
  for (const [kind, text] of found) {
    if (kind === "removed") gone += text;
    else if (kind === "added") come += text;
    else {
      flush();
      if (pieces.at(-1)?.kind === "same") pieces.at(-1).text += text;
      else pieces.push({ kind: "same", text });
    }
  }
  flush();
  return pieces;
}
