/**
 * Markdown as blocks: paragraphs, headings, lists, quotes, code, tables and rules of CommonMark 0.31 and GFM. HTML is
 * text. Each line is looked at once for each block that it is nested in, and nothing is nested deeper than `DEEPEST`:
 * hostile text takes no longer than any other.
 */

const DEEPEST = 12;
const MOST_COLUMNS = 60;
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})[ ]*(.*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^ {0,3}(?:(?:\*[ ]*){3,}|(?:-[ ]*){3,}|(?:_[ ]*){3,})$/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])( *)(.*)$/;
const UNDERLINE = /^ {0,3}(=+|-+) *$/;
const COLUMN = /^:?-+:?$/;
const DEFINITION = /^ {0,3}\[([^[\]]{1,200})\]: *(?:<([^<>]*)>|(\S+))(?: +(?:"[^"]*"|'[^']*'|\([^()]*\)))? *$/;

/**
 * The blocks of a text, and where its `[names]: https://…` lead: `{blocks, links}`. A block has a `kind`: `paragraph`
 * (text), `heading` (level, text), `code` (language, text), `quote` (blocks), `list` (start: null for bullets, loose,
 * items: `{blocks, done}`), `table` (columns, head, rows) or `rule`. Texts are still to be read for what is in a line.
 */
export function blocksOf(text) {
  const links = new Map();
  const lines = text.replace(/\r\n?/g, "\n").replaceAll("\u0000", "\uFFFD").split("\n").map(untabbed);
  return { blocks: read(lines, links, 0), links };
}

/** The name by which a link is looked up: letter case and runs of white space say nothing. */
export function labelOf(text) {
  return text.trim().replace(/\s+/g, " ").toLowerCase();
}

/** Tabs at the beginning of a line as the spaces that they stand for. */
function untabbed(line) {
  const begins = /^[ \t]*/.exec(line)[0];
  if (!begins.includes("\t")) return line;
  let width = 0;
  for (const char of begins) width += char === "\t" ? 4 - (width % 4) : 1;
  return " ".repeat(width) + line.slice(begins.length);
}

function read(lines, links, depth) {
  if (depth >= DEEPEST) return [{ kind: "paragraph", text: lines.join("\n").trim() }];
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const found = READERS.reduce((done, reader) => done ?? reader(lines, at, links, depth), null);
    at = found.next;
    if (found.block) blocks.push(found.block);
  }
  return blocks;
}

const READERS = [indented, fenced, heading, rule, quote, list, definition, table, paragraph];

function indented(lines, at) {
  if (!lines[at].startsWith("    ")) return null;
  let next = at;
  let last = at;
  while (next < lines.length && (isBlank(lines[next]) || lines[next].startsWith("    "))) {
    if (!isBlank(lines[next])) last = next;
    next += 1;
  }
  const text = lines.slice(at, last + 1).map((line) => line.slice(4)).join("\n");
  return { block: { kind: "code", language: "", text }, next: last + 1 };
}

function fenced(lines, at) {
  const opened = FENCE.exec(lines[at]);
  if (!opened) return null;
  const [, fence, info] = opened;
  const indent = indentOf(lines[at]);
  let next = at + 1;
  while (next < lines.length && !closes(lines[next], fence)) next += 1;
  const text = lines.slice(at + 1, next).map((line) => line.slice(Math.min(indent, indentOf(line)))).join("\n");
  return { block: { kind: "code", language: info.trim().split(/\s/, 1)[0], text }, next: next + 1 };
}

function closes(line, fence) {
  const text = line.trim();
  return indentOf(line) < 4 && text.length >= fence.length && text === fence[0].repeat(text.length);
}

function heading(lines, at) {
  const found = HEADING.exec(lines[at]);
  if (!found) return null;
  const text = (found[2] ?? "").trimEnd();
  const bare = text.slice(0, endBefore(text, "#"));
  const shown = bare === "" || bare.endsWith(" ") ? bare.trim() : text;
  return { block: { kind: "heading", level: found[1].length, text: shown }, next: at + 1 };
}

/** Where the run of a character at the end of a text begins. */
function endBefore(text, char) {
  let end = text.length;
  while (end > 0 && text[end - 1] === char) end -= 1;
  return end;
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? { block: { kind: "rule" }, next: at + 1 } : null;
}

function quote(lines, at, links, depth) {
  if (!isQuote(lines[at])) return null;
  const inside = [];
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    if (isQuote(line)) inside.push(untabbed(line.trimStart().slice(1).replace(/^ /, "")));
    else if (goesOn(line, inside.at(-1))) inside.push(line.trimStart());
    else break;
  }
  return { block: { kind: "quote", blocks: read(inside, links, depth + 1) }, next };
}

function isQuote(line) {
  return indentOf(line) < 4 && line.trimStart().startsWith(">");
}

/** Whether a line without the mark of its block still belongs to the paragraph before it. */
function goesOn(line, before) {
  return before !== undefined && !isBlank(line) && !isBlank(before) && !begins(line) && !FENCE.test(before);
}

function list(lines, at, links, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first || !isItem(first)) return null;
  const sign = first[2].at(-1);
  const items = [];
  let loose = false;
  let next = at;
  while (next < lines.length) {
    const mark = ITEM.exec(lines[next]);
    if (!mark || !isItem(mark) || mark[2].at(-1) !== sign || RULE.test(lines[next])) break;
    const { inside, after, gap } = itemLines(lines, next, mark);
    items.push(itemOf(inside, links, depth));
    next = after;
    loose ||= gap || (inside.some(isBlank) && items.at(-1).blocks.length > 1 && parted(inside));
    if (next >= lines.length || isBlank(lines[next])) break;
  }
  const start = /\d/.test(first[2]) ? Number.parseInt(first[2], 10) : null;
  return { block: { kind: "list", start, loose, items }, next };
}

function isItem([, , , space, content]) {
  return space !== "" || content === "";
}

/** The lines of an item without their indent, the line behind it, and whether a blank line parts it from the next. */
function itemLines(lines, at, [, before, sign, space, content]) {
  const indent = before.length + sign.length + (content === "" || space.length > 4 ? 1 : space.length);
  const inside = [lines[at].slice(indent)];
  let next = at + 1;
  let blanks = 0;
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    if (isBlank(line)) blanks += 1;
    else if (indentOf(line) >= indent || (!blanks && !ITEM.test(line) && goesOn(line, inside.at(-1)))) {
      for (; blanks; blanks -= 1) inside.push("");
      inside.push(line.slice(Math.min(indent, indentOf(line))));
    } else break;
  }
  const follows = next < lines.length && ITEM.test(lines[next]) && !RULE.test(lines[next]);
  return { inside, after: follows ? next : next - blanks, gap: follows && blanks > 0 };
}

/** Whether a blank line stands between the blocks of an item itself, and not only within one of them. */
function parted(inside) {
  return inside.some((line, at) => isBlank(line) && !isBlank(inside[at + 1] ?? "") && indentOf(inside[at + 1]) < 2);
}

function itemOf(inside, links, depth) {
  const task = /^ *\[([ xX])\] +(?=\S)/.exec(inside[0]);
  const lines = task ? [inside[0].slice(task[0].length), ...inside.slice(1)] : inside;
  return { blocks: read(lines, links, depth + 1), done: task ? task[1] !== " " : null };
}

function definition(lines, at, links) {
  const found = DEFINITION.exec(lines[at]);
  if (!found) return null;
  const label = labelOf(found[1]);
  if (!links.has(label)) links.set(label, found[2] ?? found[3]);
  return { block: null, next: at + 1 };
}

function table(lines, at) {
  if (!isTable(lines, at)) return null;
  const columns = cellsOf(lines[at + 1]).map(alignment);
  const rows = [];
  let next = at + 2;
  for (; next < lines.length && !isBlank(lines[next]) && !begins(lines[next]); next += 1) {
    rows.push(cellsOf(lines[next]).slice(0, columns.length));
  }
  return { block: { kind: "table", columns, head: cellsOf(lines[at]), rows }, next };
}

function isTable(lines, at) {
  const under = lines[at + 1];
  if (under === undefined || !lines[at].includes("|") || !/^[ |:-]+$/.test(under) || !under.includes("-")) return false;
  const columns = cellsOf(under);
  return columns.length <= MOST_COLUMNS && columns.every((cell) => COLUMN.test(cell))
    && cellsOf(lines[at]).length === columns.length;
}

function alignment(cell) {
  if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "end";
  return cell.startsWith(":") ? "start" : null;
}

/** The cells of a row; a bar behind a backslash parts none. */
function cellsOf(line) {
  const text = line.trim();
  const cells = [];
  let cell = "";
  for (let at = text.startsWith("|") ? 1 : 0; at < text.length; at += 1) {
    if (text[at] === "\\" && text[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (text[at] === "|") {
      cells.push(cell.trim());
      cell = "";
    } else cell += text[at];
  }
  if (cell.trim() || !text.endsWith("|")) cells.push(cell.trim());
  return cells;
}

function paragraph(lines, at) {
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    const under = UNDERLINE.exec(line);
    if (under) {
      const level = under[1][0] === "=" ? 1 : 2;
      return { block: { kind: "heading", level, text: joined(lines, at, next) }, next: next + 1 };
    }
    if (isBlank(line) || begins(line) || isTable(lines, next)) break;
  }
  return { block: { kind: "paragraph", text: joined(lines, at, next) }, next };
}

function joined(lines, from, to) {
  // Two spaces at the end of a line break it, and the first line's indent says nothing.
  return lines.slice(from, to).map((line) => line.trimStart()).join("\n").trim();
}

/** Whether a line ends the paragraph before it. */
function begins(line) {
  if (indentOf(line) > 3) return false;
  if (HEADING.test(line) || RULE.test(line) || FENCE.test(line) || isQuote(line)) return true;
  const item = ITEM.exec(line);
  return item !== null && item[4] !== "" && item[3] !== ""
    && (!/\d/.test(item[2]) || Number.parseInt(item[2], 10) === 1);
}

function isBlank(line) {
  return line.trim() === "";
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}
