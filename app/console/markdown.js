/**
 * Markdown as nodes. What a model has written only ever becomes text of elements that are named here: there is no HTML
 * in it, no image is fetched, and a link leads to the web or to a mailbox or is none.
 */

import { h } from "./dom.js";
import { plural } from "./format.js";
import { blocksOf } from "./markdown_blocks.js";
import { piecesOf } from "./markdown_inline.js";

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);
const LONGEST = 400_000;
const LOWEST = 6;

/** Nodes for a text. `top` is the level of its highest headings, so that they stand below those of the page. */
export function markdown(text, { top = 3 } = {}) {
  const { blocks, links } = blocksOf(text.slice(0, LONGEST));
  const how = { links, top, highest: highest(blocks), last: top - 1 };
  const nodes = blocks.map((block) => nodeOf(block, how));
  const left = text.length - LONGEST;
  if (left > 0) nodes.push(h("p", { class: "quiet" }, `${plural(left, "character")} more are left out here.`));
  return nodes;
}

/** A text as an article with the look of one. */
export function prose(text, options) {
  return h("div", { class: "prose" }, markdown(text, options));
}

/** Where a link leads, in full; null for what is not an address of the web or of a mailbox. */
export function safeAddress(text) {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return PROTOCOLS.has(url.protocol) ? url.href : null;
}

function nodeOf(block, how) {
  switch (block.kind) {
    case "heading": return headingOf(block, how);
    case "code": return codeBlock(block);
    case "quote": return h("blockquote", {}, block.blocks.map((each) => nodeOf(each, how)));
    case "list": return listOf(block, how);
    case "table": return tableOf(block, how);
    case "rule": return h("hr");
    default: return h("p", {}, inline(block.text, how));
  }
}

/** The level of the highest heading in these blocks. */
function highest(blocks) {
  return blocks.reduce((least, { level, blocks: inside = [], items = [] }) => {
    const here = level ?? highest(inside);
    return items.reduce((most, item) => Math.min(most, highest(item.blocks)), Math.min(least, here));
  }, LOWEST);
}

/** A heading; no level below the one before it is left out, as texts do that want smaller letters. */
function headingOf({ level, text }, how) {
  how.last = Math.min(LOWEST, level - how.highest + how.top, how.last + 1);
  return h(`h${how.last}`, {}, inline(text, how));
}

function codeBlock({ language, text }) {
  const label = language ? `Code: ${language}` : "Code";
  return h("pre", { tabindex: "0", role: "group", "aria-label": label }, h("code", {}, text));
}

function listOf({ start, loose, items }, how) {
  const props = start === null || start === 1 ? {} : { start };
  const inside = (block) => (block.kind === "paragraph" && !loose ? inline(block.text, how) : nodeOf(block, how));
  return h(start === null ? "ul" : "ol", props, items.map(({ blocks, done }) => (
    h("li", { class: done === null ? null : "task" }, done !== null && checkOf(done), blocks.map(inside)))));
}

function checkOf(done) {
  return h("span", { class: "check", role: "img", "aria-label": done ? "done" : "to do" }, done ? "☑" : "☐");
}

function tableOf({ columns, head, rows }, how) {
  const cell = (tag) => (text, at) => h(text ? tag : "td", {
    scope: text && tag === "th" ? "col" : null, style: columns[at] ? { "text-align": columns[at] } : {},
  }, inline(text, how));
  return h("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, h("table", {},
    h("thead", {}, h("tr", {}, head.map(cell("th")))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
}

function inline(text, { links }) {
  const top = [];
  const open = [{ children: top }];
  for (const piece of piecesOf(text, links)) {
    if (piece.open) open.push({ ...piece, children: [] });
    else if (piece.close) {
      const closed = open.pop();
      open.at(-1).children.push(elementOf(closed, open.some((each) => each.open === "link")));
    } else open.at(-1).children.push(leafOf(piece));
  }
  return top;
}

function leafOf({ text, code, newline }) {
  if (newline) return h("br");
  return code === undefined ? text : h("code", {}, code);
}

function elementOf({ open, address, children }, linked) {
  if (open === "link") return linkOf(address, children);
  if (open === "image") return imageOf(address, children, linked);
  return h(open, {}, children);
}

function linkOf(address, children) {
  const href = safeAddress(address);
  if (href === null) return h("span", { title: `This is no link: ${address.slice(0, 200)}` }, children);
  return h("a", { href, title: href, target: "_blank", rel: "noopener noreferrer nofollow" }, children);
}

/** An image in words: what it shows, and where it is for whoever wants to see it. */
function imageOf(address, children, linked) {
  const shown = address.length > 120 ? `${address.slice(0, 120)}…` : address;
  const place = linked || safeAddress(address) === null ? h("code", {}, shown) : linkOf(address, [shown]);
  return h("span", { class: "image" }, "Image: ", children, " (", place, ")");
}
