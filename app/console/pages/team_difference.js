/** What differs between two versions of a team, field by field; texts line by line. */

import { h } from "../dom.js";
import { plural } from "../format.js";
import { yamlOf } from "../yaml.js";
import { definitionOf } from "./team_words.js";

const COMPARED_AT_MOST = 1_000_000;

/**
 * Fields that are another in the second, that it has more, or no more: `{path, before, after}`, null for none. Members
 * of a list go by their name or id, so that moving one changes nothing; one that only one of the two has is one change.
 */
export function changesOf(one, other, path = "") {
  if (holdsMembers(one) && holdsMembers(other)) {
    return changesOfEach(membersOf(one), membersOf(other), (name) => `${path} ${name}`);
  }
  if (isObject(one) && isObject(other)) {
    return changesOfEach(fieldsOf(one), fieldsOf(other), (name) => (path ? `${path} · ${name}` : name));
  }
  const [before, after] = [textOf(one), textOf(other)];
  return before === after ? [] : [{ path, before, after }];
}

function changesOfEach(one, other, pathOf) {
  return [...new Set([...one.keys(), ...other.keys()])]
    .flatMap((name) => changesOf(one.get(name) ?? null, other.get(name) ?? null, pathOf(name)));
}

function holdsMembers(value) {
  return Array.isArray(value) && value.every(isObject);
}

function membersOf(list) {
  return new Map(list.map((each, at) => [each.name ?? each.id ?? String(at + 1), each]));
}

function fieldsOf(object) {
  return new Map(Object.entries(object));
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
    ...one.slice(0, start).map(same),
    ...between(one.slice(start, one.length - end), other.slice(start, other.length - end)),
    ...one.slice(one.length - end).map(same),
  ];
}

/** Lines of two texts by their longest common subsequence; of very long texts everything is another line. */
function between(one, other) {
  const gone = one.map((line) => ["-", line]);
  const come = other.map((line) => ["+", line]);
  if (one.length * other.length > COMPARED_AT_MOST) return [...gone, ...come];
  const width = other.length + 1;
  const common = commonLengths(one, other, width);
  const lines = [];
  let row = 0;
  let column = 0;
  while (row < one.length && column < other.length) {
    if (one[row] === other[column]) {
      lines.push([" ", one[row]]);
      row += 1;
      column += 1;
    } else if (common[(row + 1) * width + column] >= common[row * width + column + 1]) lines.push(gone[row++]);
    else lines.push(come[column++]);
  }
  return [...lines, ...gone.slice(row), ...come.slice(column)];
}

/** How long the longest common subsequence is from a row and a column on. */
function commonLengths(one, other, width) {
  const common = new Uint32Array((one.length + 1) * width);
  for (let row = one.length - 1; row >= 0; row -= 1) {
    for (let column = other.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      const without = Math.max(common[at + width], common[at + 1]);
      common[at] = one[row] === other[column] ? common[at + width + 1] + 1 : without;
    }
  }
  return common;
}

/** The difference between two versions as a panel. */
export function differenceOf(one, other) {
  const changes = changesOf(definitionOf(one), definitionOf(other));
  return h("section", { class: "panel version-difference" },
    h("header", {},
      h("h2", {}, `From version ${one.version} to version ${other.version}`),
      h("span", { class: "quiet" }, changes.length ? plural(changes.length, "field") : "")),
    !changes.length && h("p", { class: "quiet" }, "The two say the same."),
    changes.map(changeOf));
}

function changeOf({ path, before, after }) {
  const words = before === null ? " new" : after === null ? " gone" : "";
  const frame = { class: "diff", tabindex: "0", role: "group", "aria-label": `${path}: before and after` };
  return h("article", {},
    h("h3", {}, path, words && h("span", { class: "quiet small" }, words)),
    h("pre", frame, linesOf(before, after).map(lineOf)));
}

const SAID = { "-": "removed: ", "+": "added: " };

/** A line of a difference; what is coloured is said too. */
function lineOf([sign, text]) {
  const said = SAID[sign] && h("span", { class: "unseen" }, SAID[sign]);
  return h("span", { class: "line", data: { sign } }, h("span", { class: "sign" }, said, sign), text || " ");
}
