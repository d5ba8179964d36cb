/** Addresses as Markdown writes them: between parentheses or bare, with escapes and entities. */

export const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/y;
const ENTITIES = {
  amp: "&", lt: "<", gt: ">", quot: "\"", apos: "'", nbsp: "\u00A0", copy: "©", reg: "®", trade: "™", hellip: "…",
  mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", times: "×", middot: "·", bull: "•",
  rarr: "→", larr: "←", deg: "°", euro: "€", pound: "£",
};
const EACH_ENTITY = new RegExp(ENTITY.source, "g");
const PARENTHESES_DEEP = 32;

/** An address between parentheses, and a title, which is left aside. */
export function destination(text, from) {
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
export function read(address) {
  return address.replace(/\\([!-/:-@[-`{-~])/g, "$1")
    .replace(EACH_ENTITY, (all, ...found) => charOf([all, ...found]) ?? all);
}

/** The character that an entity stands for; null for a name that is not known. */
export function charOf([, decimal, hex, name]) {
  if (name !== undefined) return ENTITIES[name] ?? null;
  const code = decimal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10);
  return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? "\uFFFD" : String.fromCodePoint(code);
}

/** A bare address without the marks that end a sentence. */
export function trimmed(address) {
  let end = address.length;
  let open = address.split("(").length - address.split(")").length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    if (last === ")" && open < 0) open += 1;
    else if (!/[?!.,:;*_~'\]]/.test(last)) break;
  }
  return address.slice(0, end);
}
