/** What can be measured of usage: its words, the parts of it in a group, how a number of it is written. */

import { count, money } from "../format.js";

export const MEASURES = {
  cost: {
    name: "Cost", series: [{ name: "cost", kind: "running" }], format: money, tick: dollars, whole: false,
    parts: ({ usage }) => [Number(usage.cost_usd)],
  },
  tokens: {
    name: "Tokens", format: count, tick: short, whole: true,
    series: [
      { name: "read anew", kind: "running" },
      { name: "read from the cache", kind: "tool" },
      { name: "written", kind: "llm" },
    ],
    parts: ({ usage }) => [usage.input_tokens - usage.cache_read_tokens, usage.cache_read_tokens, usage.output_tokens],
  },
  calls: {
    name: "Calls", series: [{ name: "of models", kind: "llm" }, { name: "of tools", kind: "tool" }],
    format: count, tick: short, whole: true, parts: ({ usage }) => [usage.llm_calls, usage.tool_calls],
  },
  runs: {
    name: "Runs", series: [{ name: "runs", kind: "running" }], format: count, tick: short, whole: true,
    parts: ({ runs }) => [runs],
  },
};

/** The figures of a group, in the columns of tables. */
export const FIGURES = [
  ["Runs", ({ runs }) => count(runs)],
  ["Model calls", ({ usage }) => count(usage.llm_calls)],
  ["Tool calls", ({ usage }) => count(usage.tool_calls)],
  ["Read", ({ usage }) => count(usage.input_tokens)],
  ["Written", ({ usage }) => count(usage.output_tokens)],
  ["Cost", ({ usage }) => money(usage.cost_usd)],
];

/** What a group has of a measure, all parts together. */
export function sumOf(group, { parts }) {
  return parts(group).reduce((sum, part) => sum + part, 0);
}

function dollars(value) {
  if (value !== 0 && value < 0.01) return `$${Number(value.toPrecision(3))}`;
  const cents = Number.isInteger(value) ? {} : { minimumFractionDigits: 2, maximumFractionDigits: 3 };
  return `$${value.toLocaleString("en-US", cents)}`;
}

function short(value) {
  return value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });
}
