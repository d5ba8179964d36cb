/** What differs between two versions of a team, field by field; texts line by line. */

import { h } from "../dom.js";
import { plural } from "../format.js";
import { yamlOf } from "../yaml.js";
import { definitionOf } from "./team_words.js";

const COMPARED_AT_MOST = 1_000_000;

/**
 * Fields that are another in the second, that it has more, or no more: `{path, before, after}`, null for none. Members of
 * a list go by their name or id, so that moving one changes nothing; one that is only there or only here is one change.
 */
export function changesOf(one, other, path = "") {
  if (holdsMembers(one) && holdsMembers(other)) return changesOfEach(membersOf(one), membersOf(other), (name) => `${path} ${name}`);
  if (isObject(one) && isObject(other)) return changesOfEach(new Map(Object.entries(one)), new Map(Object.entries(other)), (name) => (path ? `${path} · ${name}` : name));
  const [before, after] = [textOf(one), textOf(other)];
  return before === after ? [] : [{ path, before, after }];
}

function changesOfEach(one, other, pathOf) {
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((name) => changesOf(one.get(name) ?? null, other.get(name) ?? null, pathOf(name)));
}

function holdsMembers(value) {
  return Array.isArray(value) && value.every(isObject);
}

function membersOf(list) {
  return new Map(list.map((each, at) => [each.name ?? each.id ?? String(at + 1), each]));
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function textOf(value) {
  if (value === null || typeof value === "string") return value;
  return typeof value === "object" ? yamlOf(value).trimEnd() : String(value);
}

/** Lines as `[sign, text]`, where the sign is `-`, `+` or a space. */
export function linesOf(before, after) {
  const one = before === null ? [] : before.split("\n");
  const other = after === null ? [] : after.split("\n");
  let start = 0;
  while (start < Math.min(one.length, other.length) && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const same = (line) => [" ", line];
  return [
    ...one.slice(0, start).map(same), ...between(one.slice(start, one.length - end), other.slice(start, other.length - end)), ...one.slice(one.length - end).map(same),
  ];
}

/** The longest common subsequence; of very long texts everything between is another one. */
function between(one, other) {
  if (one.length * other.length > COMPARED_AT_MOST) return [...one.map((line) => ["-", line]), ...other.map((line) => ["+", line])];
  const width = other.length + 1;
  const lengths = new Uint32Array((one.length + 1) * width);
  for (let row = one.length - 1; row >= 0; row -= 1) for (let column = other.length - 1; column >= 0; column -= 1) {
    lengths[row * width + column] = one[row] === other[column] ? lengths[(row + 1) * width + column + 1] + 1 : Math.max(lengths[(row + 1) * width + column], lengths[row * width + column + 1]);
  }
  const lines = [];
  let row = 0;
  let column = 0;
  while (row < one.length || column < other.length) {
    if (row < one.length && column < other.length && one[row] === other[column]) {
      lines.push([" ", one[row]]);
      row += 1;
      column += 1;
    } else if (column >= other.length || (row < one.length && lengths[(row + 1) * width + column] >= lengths[row * width + column + 1])) lines.push(["-", one[row++]]);
    else lines.push(["+", other[column++]]);
  }
  return lines;
}

export function differenceOf(one, other) {
  const changes = changesOf(definitionOf(one), definitionOf(other));
  return h("section", { class: "panel difference" },
    h("header", {}, h("h2", {}, `From version ${one.version} to version ${other.version}`), h("span", { class: "quiet" }, changes.length ? plural(changes.length, "field") : "")),
    !changes.length && h("p", { class: "quiet" }, "The two say the same."),
    changes.map(({ path, before, after }) => h("article", {},
      h("h3", {}, path, h("span", { class: "quiet small" }, before === null ? " new" : after === null ? " gone" : "")),
      h("pre", { class: "diff", tabindex: "0", role: "group", "aria-label": `${path}: before and after` }, linesOf(before, after).map(lineOf)))));
}

const SAID = { "-": "removed: ", "+": "added: " };

/** A line of a difference; what is coloured is said too. */
export function lineOf([sign, text]) {
  return h("span", { class: "line", data: { sign } }, SAID[sign] ? h("span", { class: "sign" }, h("span", { class: "unseen" }, SAID[sign]), sign) : h("span", { class: "sign" }, " "), text || " ");
}
