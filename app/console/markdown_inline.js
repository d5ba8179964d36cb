/**
 * What is in a line of Markdown: emphasis, strikethrough, code, links, images, line breaks, escapes and entities. The
 * text is gone through once, by the delimiter algorithm of CommonMark ("An algorithm for parsing nested emphasis and
 * links"), whose looks back are bounded: a text of n characters takes time in proportion to n.
 */

import { charOf, destination, ENTITY, read, trimmed } from "./markdown_addresses.js";
import { labelOf } from "./markdown_blocks.js";
import { nested, pair, settled } from "./markdown_pairs.js";

const ESCAPABLE = /[!-/:-@[-`{-~]/;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const SPACE = /\s/u;
const PLAIN = /[^\\`*_~[\]!&<\nhw]+/y;
const BARE = /(?:https?:\/\/|www\.)[^\s<>"`|\\^{}[\]]{1,2000}/y;
const BRACKETED = /<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]{0,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>/y;

/**
 * The pieces of a line, in order: `{text}`, `{code}`, `{newline}`, and in pairs `{open}` and `{close}` with what is
 * between them: `em`, `strong`, `del`, `link` and `image`, the last two with an `address`. `links` are those that the
 * text defines by name.
 */
export function piecesOf(text, links = new Map()) {
  return new Line(text, links).pieces();
}

class Line {
  #text;
  #links;
  #at = 0;
  #pieces = [];
  #marks = [];
  #brackets = [];
  #inactive = 0;
  #ticks;

  constructor(text, links) {
    this.#text = text;
    this.#links = links;
    this.#ticks = ticksOf(text);
  }

  pieces() {
    while (this.#at < this.#text.length) this.#step();
    pair(this.#marks, 0);
    return nested(this.#pieces.flatMap(settled));
  }

  #step() {
    const char = this.#text[this.#at];
    if (char === "\\") this.#escape();
    else if (char === "`") this.#code();
    else if (char === "*" || char === "_" || char === "~") this.#mark(char);
    else if (char === "[") this.#open(1);
    else if (char === "!" && this.#text[this.#at + 1] === "[") this.#open(2);
    else if (char === "]") this.#close();
    else if (char === "&") this.#entity();
    else if (char === "<") this.#bracketed();
    else if (char === "\n") this.#newline();
    else if (char === "h" || char === "w") this.#bare();
    else this.#plain();
  }

  #say(text) {
    const last = this.#pieces.at(-1);
    if (last?.words) last.words.push(text);
    else this.#pieces.push({ words: [text] });
  }

  #taken(pattern) {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at += found[0].length;
    return found;
  }

  #plain() {
    this.#say(this.#taken(PLAIN)?.[0] ?? this.#text[this.#at++]);
  }

  #escape() {
    const next = this.#text[this.#at + 1];
    if (next === "\n") this.#break(2);
    else if (next !== undefined && ESCAPABLE.test(next)) {
      this.#say(next);
      this.#at += 2;
    } else this.#plain();
  }

  #break(length) {
    this.#pieces.push({ newline: true });
    this.#at += length;
  }

  #newline() {
    if (this.#text.startsWith("  ", this.#at - 2)) this.#break(1);
    else this.#plain();
  }

  #code() {
    const { length, end } = this.#ticks.get(this.#at);
    if (end === null) this.#say("`".repeat(length));
    else this.#pieces.push({ code: codeOf(this.#text.slice(this.#at + length, end)) });
    this.#at = end === null ? this.#at + length : end + length;
  }

  #mark(char) {
    const from = this.#at;
    while (this.#text[this.#at] === char) this.#at += 1;
    const length = this.#at - from;
    const before = from === 0 ? " " : charBefore(this.#text, from);
    const after = this.#at < this.#text.length ? String.fromCodePoint(this.#text.codePointAt(this.#at)) : " ";
    const beforeWord = !SPACE.test(after)
      && (!PUNCTUATION.test(after) || SPACE.test(before) || PUNCTUATION.test(before));
    const afterWord = !SPACE.test(before)
      && (!PUNCTUATION.test(before) || SPACE.test(after) || PUNCTUATION.test(after));
    const anywhere = char !== "_";
    const mark = {
      char, length, left: length, openings: [], closings: [],
      opens: beforeWord && (anywhere || !afterWord || PUNCTUATION.test(before)),
      closes: afterWord && (anywhere || !beforeWord || PUNCTUATION.test(after)),
    };
    this.#pieces.push({ mark });
    if (char !== "~" || length === 2) this.#marks.push(mark);
  }

  #open(length) {
    const piece = { text: this.#text.slice(this.#at, this.#at + length) };
    this.#pieces.push(piece);
    this.#at += length;
    const bracket = { piece, image: length === 2, from: this.#at, marks: this.#marks.length, nested: false };
    const above = this.#brackets.at(-1);
    if (above) above.nested = true;
    this.#brackets.push(bracket);
  }

  #close() {
    const bracket = this.#brackets.pop();
    const until = this.#at;
    this.#at += 1;
    if (!bracket || (!bracket.image && this.#brackets.length < this.#inactive)) {
      this.#inactive = Math.min(this.#inactive, this.#brackets.length);
      return this.#say("]");
    }
    const address = this.#address() ?? this.#named(bracket, until);
    if (address === null) return this.#say("]");
    const kind = bracket.image ? "image" : "link";
    pair(this.#marks, bracket.marks);
    Object.assign(bracket.piece, { open: kind, address });
    this.#pieces.push({ close: kind });
    // No link within a link.
    if (!bracket.image) this.#inactive = this.#brackets.length;
  }

  /** What stands between parentheses behind the text of a link; null when that is no address. */
  #address() {
    if (this.#text[this.#at] !== "(") return null;
    const found = destination(this.#text, this.#at + 1);
    if (!found) return null;
    this.#at = found.next;
    return read(found.address);
  }

  #named({ from, nested }, until) {
    if (!this.#links.size) return null;
    const behind = /\[([^[\]]{0,200})\]/y;
    behind.lastIndex = this.#at;
    const named = behind.exec(this.#text);
    const own = nested || until - from > 200 ? null : this.#text.slice(from, until);
    const label = named?.[1] || own;
    const address = label === null ? undefined : this.#links.get(labelOf(label));
    if (address === undefined) return null;
    if (named) this.#at += named[0].length;
    return read(address);
  }

  #entity() {
    const found = this.#taken(ENTITY);
    const char = found && charOf(found);
    if (found && char !== null) this.#say(char);
    else if (found) this.#say(found[0]);
    else this.#plain();
  }

  #bracketed() {
    const found = this.#taken(BRACKETED);
    if (!found) return this.#plain();
    const mail = !/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(found[1]);
    this.#link(mail ? `mailto:${found[1]}` : found[1], found[1]);
  }

  #bare() {
    if (this.#at > 0 && /[\p{L}\p{N}_]/u.test(this.#text[this.#at - 1])) return this.#plain();
    BARE.lastIndex = this.#at;
    const found = BARE.exec(this.#text);
    const address = found && trimmed(found[0]);
    if (!address || !/[.:]\S/.test(address.slice(4))) return this.#plain();
    this.#at += address.length;
    this.#link(address.startsWith("www.") ? `https://${address}` : address, address);
  }

  #link(address, text) {
    this.#pieces.push({ open: "link", address }, { text }, { close: "link" });
  }
}

/** Runs of backticks by where they begin: how long they are, and where the next run of that length is, if any. */
function ticksOf(text) {
  const runs = [...text.matchAll(/`+/g)].map(({ index, 0: { length } }) => ({ index, length }));
  const next = new Map();
  const found = new Map();
  for (const { index, length } of runs.reverse()) {
    found.set(index, { length, end: next.get(length) ?? null });
    next.set(length, index);
  }
  return found;
}

function codeOf(text) {
  const line = text.replaceAll("\n", " ");
  return line.startsWith(" ") && line.endsWith(" ") && line.trim() ? line.slice(1, -1) : line;
}

function charBefore(text, at) {
  const code = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff ? text.slice(at - 2, at) : text[at - 1];
}
