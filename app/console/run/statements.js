/**
 * Where the statements of an answer stand in it. Both are compared as words, whatever marks are around them; a
 * statement that is not there word for word is looked for sentence by sentence, by the words that the two share.
 */

import { h } from "../dom.js";
import { markdown } from "../markdown.js";

const BLOCKS = "p, li, td, th, h3, h4, h5, h6, pre, blockquote, div";
const ALIKE = 0.7;
const LEAST_WORDS = 3;
const SENTENCE_ENDS = /[.!?…:;]["'”’)\]]*\s|\n/;

/** Words of what an element shows: `{text, node, from, to, block, begins}`; `begins` is true where a sentence does. */
export function wordsOf(root) {
  const words = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let between = "";
  let block = null;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const within = node.parentElement.closest(BLOCKS);
    let behind = 0;
    for (const { 0: text, index } of node.data.matchAll(/[\p{L}\p{N}]+/gu)) {
      between += node.data.slice(behind, index);
      behind = index + text.length;
      const begins = within !== block || SENTENCE_ENDS.test(between);
      words.push({ text: text.normalize("NFKC").toLowerCase(), node, from: index, to: behind, block: within, begins });
      block = within;
      between = "";
    }
    between += node.data.slice(behind);
  }
  return words;
}

/** For each text where it stands among the words: `{first, last, exact}`, or null. */
export function placesOf(texts, words) {
  const said = texts.map((text) => wordsOf(h("div", {}, markdown(text))).map((word) => word.text));
  const line = ` ${words.map((word) => word.text).join(" ")} `;
  const starts = startsOf(words);
  let sentences = null;
  return said.map((wanted) => {
    if (!wanted.length) return null;
    const at = line.indexOf(` ${wanted.join(" ")} `);
    if (at >= 0) {
      const first = starts.get(at + 1);
      return { first, last: first + wanted.length - 1, exact: true };
    }
    sentences ??= sentencesOf(words);
    return alike(wanted, sentences);
  });
}

function startsOf(words) {
  const starts = new Map();
  let at = 1;
  words.forEach((word, index) => {
    starts.set(at, index);
    at += word.text.length + 1;
  });
  return starts;
}

function sentencesOf(words) {
  const all = [];
  const byWord = new Map();
  words.forEach((word, index) => {
    if (word.begins || !all.length) all.push({ first: index, last: index, words: new Set() });
    const sentence = all.at(-1);
    sentence.last = index;
    if (sentence.words.has(word.text)) return;
    sentence.words.add(word.text);
    if (!byWord.has(word.text)) byWord.set(word.text, []);
    byWord.get(word.text).push(sentence);
  });
  return { all, byWord };
}

/** The sentence that shares most words with what is wanted, and every figure of it. */
function alike(wanted, { all, byWord }) {
  const own = new Set(wanted);
  if (own.size < LEAST_WORDS) return null;
  const shared = new Map();
  const figures = [...own].filter((word) => /\p{N}/u.test(word));
  for (const word of own) {
    const found = byWord.get(word) ?? [];
    // A word of most sentences tells none of them from the others.
    if (found.length > Math.max(20, all.length / 2)) continue;
    for (const sentence of found) shared.set(sentence, (shared.get(sentence) ?? 0) + 1);
  }
  const best = [...shared]
    .map(([sentence, count]) => ({ sentence, score: count / own.size - 0.2 * (1 - count / sentence.words.size) }))
    .filter(({ sentence }) => figures.every((figure) => sentence.words.has(figure)))
    .reduce((most, each) => (each.score > (most?.score ?? 0) ? each : most), null);
  if (!best || shared.get(best.sentence) / own.size < ALIKE) return null;
  return { first: best.sentence.first, last: best.sentence.last, exact: false };
}

/**
 * Mark places in the text that their words were read from: what stands there is put into `span.stated` elements with
 * `data-statements`, the numbers of those that stand there. `behind(number)` makes what is put behind a statement.
 */
export function mark(places, words, behind) {
  const cuts = new Map();
  places.forEach((place, index) => place && cut(cuts, place, words, index + 1));
  const ends = new Map();
  for (const [node, pieces] of cuts) wrap(node, pieces, ends);
  // Later ones first: where two end at the same place, they stand in their order.
  const lastFirst = [...ends].sort(([one], [other]) => other - one);
  for (const [number, span] of lastFirst) (span.closest("a") ?? span).after(behind(number));
}

/** Note which part of which node belongs to a statement. */
function cut(cuts, { first, last }, words, number) {
  for (let at = first; at <= last; at += 1) {
    const { node } = words[at];
    if (!cuts.has(node)) cuts.set(node, []);
    const from = at > first && goesOn(words[at - 1], words[at]) ? 0 : words[at].from;
    cuts.get(node).push({ from, to: at < last ? untilNext(words[at], words[at + 1]) : behindPunctuation(words[at]),
      number, ends: at === last });
  }
}

/** Whether a line goes on from a word to one of another element, such as a bold one. */
function goesOn(word, next) {
  return word.node !== next.node && word.block === next.block;
}

function untilNext(word, next) {
  if (word.node === next.node) return next.from;
  return goesOn(word, next) ? word.node.data.length : word.to;
}

function behindPunctuation({ node, to }) {
  return to + /^[.,;:!?…"”’')\]%]*/.exec(node.data.slice(to, to + 10))[0].length;
}

/** Cut a text where a statement begins or ends, and wrap the pieces in which there is one. */
function wrap(node, pieces, ends) {
  const borders = [...new Set([0, node.data.length, ...pieces.flatMap(({ from, to }) => [from, to])])]
    .sort((a, b) => a - b);
  const at = new Map(borders.map((border, index) => [border, index]));
  const holds = borders.map(() => new Set());
  for (const { from, to,
    number } of pieces) for (let index = at.get(from); index < at.get(to); index += 1) holds[index].add(number);
  const made = [];
  for (let index = 0; index + 1 < borders.length; index += 1) {
    const numbers = [...holds[index]].join(" ");
    const text = node.data.slice(borders[index], borders[index + 1]);
    if (made.at(-1)?.numbers === numbers) made.at(-1).text += text;
    else made.push({ numbers, text });
  }
  node.replaceWith(...made.map(({ numbers, text }) => {
    if (!numbers) return document.createTextNode(text);
    const span = h("span", { class: "stated", data: { statements: numbers } }, text);
    for (const { number } of pieces
      .filter((piece) => piece.ends && numbers.split(" ").includes(String(piece.number)))) ends.set(number, span);
    return span;
  }));
}
