/**
 * What stands in a line of Markdown: emphasis, strikethrough, code, links, images, line breaks, escapes and entities. The
 * text is gone through once, by the delimiter algorithm of CommonMark (its section "An algorithm for parsing nested
 * emphasis and links"), whose looks back are bounded: any text of n characters takes time in proportion to n.
 */

import { labelOf } from "./markdown_blocks.js";

const ESCAPABLE = /[!-/:-@[-`{-~]/;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const SPACE = /\s/u;
const PLAIN = /[^\\`*_~[\]!&<\nhw]+/y;
const BARE = /(?:https?:\/\/|www\.)[^\s<>"`|\\^{}[\]]{1,2000}/y;
const BRACKETED = /<([a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]{0,2000}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>/y;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/y;
const ENTITIES = {
  amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'", nbsp: "\u00A0", copy: "©", reg: "®", trade: "™", hellip: "…", mdash: "—", ndash: "–",
  lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", times: "×", middot: "·", bull: "•", rarr: "→", larr: "←", deg: "°", euro: "€", pound: "£",
};
const PARENTHESES_DEEP = 32;
const NESTED_DEEP = 16;

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
    const beforeWord = !SPACE.test(after) && (!PUNCTUATION.test(after) || SPACE.test(before) || PUNCTUATION.test(before));
    const afterWord = !SPACE.test(before) && (!PUNCTUATION.test(before) || SPACE.test(after) || PUNCTUATION.test(after));
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

/** A piece once all pairs are made. A run of marks closes something, is left over as text, opens something. */
function settled(piece) {
  if (piece.words) return { text: piece.words.join("") };
  if (!piece.mark) return piece;
  const { char, left, openings, closings } = piece.mark;
  return [...closings.map((close) => ({ close })), { text: char.repeat(left) }, ...openings.map((open) => ({ open }))];
}

/** The pieces without links in links, and without what is nested too deep to be told apart. */
function nested(pieces) {
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

/** Make pairs of the marks from one on, and forget these. */
function pair(marks, from) {
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
    opener.openings.unshift(element);
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

/** An address between parentheses, and a title, which is left aside. */
function destination(text, from) {
  let at = spaces(text, from);
  let address;
  if (text[at] === "<") {
    const end = /<([^<>\n]*)>/y;
    end.lastIndex = at;
    const found = end.exec(text);
    if (!found) return null;
    address = found[1];
    at += found[0].length;
  } else {
    const end = endOfAddress(text, at);
    address = text.slice(at, end);
    at = end;
  }
  const behind = spaces(text, at);
  const title = behind > at ? endOfTitle(text, behind) : behind;
  if (title === null) return null;
  at = spaces(text, title);
  return text[at] === ")" ? { address, next: at + 1 } : null;
}

function endOfAddress(text, from) {
  let deep = 0;
  let at = from;
  for (; at < text.length && !/[\s\u0000-\u001f]/.test(text[at]); at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "(" && (deep += 1) > PARENTHESES_DEEP) break;
    else if (text[at] === ")" && (deep -= 1) < 0) break;
  }
  return Math.min(at, text.length);
}

function endOfTitle(text, from) {
  const ends = { "\"": "\"", "'": "'", "(": ")" }[text[from]];
  if (!ends) return from;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === ends) return at + 1;
    else if (text[at] === "(" && ends === ")") return null;
  }
  return null;
}

function spaces(text, from) {
  let at = from;
  while (text[at] === " " || text[at] === "\n") at += 1;
  return at;
}

/** An address with its escapes and entities read. */
function read(address) {
  return address.replace(/\\([!-/:-@[-`{-~])/g, "$1").replace(new RegExp(ENTITY.source, "g"), (all, ...found) => charOf([all, ...found]) ?? all);
}

function charOf([, decimal, hex, name]) {
  if (name !== undefined) return ENTITIES[name] ?? null;
  const code = decimal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10);
  return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? "\uFFFD" : String.fromCodePoint(code);
}

/** A bare address without the marks that end a sentence. */
function trimmed(address) {
  let end = address.length;
  let open = address.split("(").length - address.split(")").length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    if (last === ")" && open < 0) open += 1;
    else if (!/[?!.,:;*_~'\]]/.test(last)) break;
  }
  return address.slice(0, end);
}
