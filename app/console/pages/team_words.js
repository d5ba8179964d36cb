/** What the fields of a team say, for people. */

import { h } from "../dom.js";
import { facts } from "../facts.js";
import { count, duration, money, plural } from "../format.js";

const ORIGINS = { built_in: "built in", operator: "from a file of the operator", client: "put by a client" };
const EFFECTS = {
  read: "reads only",
  idempotent: "may be repeated under the same key",
  once: "changes something, never repeated",
};
const CONFLICTS = {
  surface: "the answer gives every side", fail: "there is no answer", ask_human: "a person is asked",
};
const STRAGGLERS = { wait: "are waited for", drop: "are dropped", hedge: "are tried a second time, side by side" };

/** Who has brought a version. */
export function originOf(team) {
  return ORIGINS[team.origin] ?? "of the first release";
}

/** What a call of a tool does to the world. */
export function effectOf(tool) {
  return EFFECTS[tool.effect] ?? tool.effect;
}

/** The definition of a team as a team file has it: without what the service adds. */
export function definitionOf(team) {
  const { version, created_at: createdAt, origin, archived_at: archivedAt, ...definition } = team;
  return definition;
}

/** The bounds of a team's runs. */
export function limitsOf({ limits }) {
  return facts([
    ["Tasks", limits.tasks],
    ["At the same time", limits.concurrency],
    ["Attempts of a task", limits.attempts],
    ["Time", duration(limits.timeout_s * 1000)],
    ["Cost", limits.cost_usd === null ? "no limit" : money(limits.cost_usd)],
    ["Tokens", limits.tokens === null ? "no limit" : count(limits.tokens)],
    ["Rounds of work", limits.rounds],
    ["Levels of teams", limits.depth],
  ]);
}

/** How a team goes about its runs. */
export function rulesOf(team) {
  return facts([
    ["Results become answers", team.strategy ?? "as each plan says"],
    ["Review", reviewOf(team.review)],
    ["By", team.review.criteria?.length > 0 && h("ul", {}, team.review.criteria.map((each) => h("li", {}, each)))],
    ["Plans wait for approval", approvalOf(team.approval)],
    ["Conflicts", CONFLICTS[team.conflicts]],
    ["Tried on them first", steps(team.conflict_resolution)],
    ["After failed attempts", steps(team.ladder)],
    ["Stragglers", STRAGGLERS[team.stragglers?.policy]],
    ["Findings", team.workers.some(({ output }) => output === "findings") && findingsOf(team.findings)],
    ["Tools", team.tool_isolation === "exclusive" ? "each belongs to one worker" : "may be shared by workers"],
    ["Workers of a plan's own", dynamicOf(team.dynamic_workers)],
    ["Questions wait", duration(team.question_timeout_s * 1000)],
    ["Credentials in inputs", team.mask_inputs ? "are masked" : "stay as they are"],
    ["Files made by code", team.files?.join(", ")],
  ]);
}

function steps(names) {
  return names?.map((each) => each.replaceAll("_", " ")).join(", then ");
}

function reviewOf({ critic, rounds, model }) {
  if (!critic) return "none, unless a job has a rubric";
  return `a critic looks at answers, ${plural(rounds, "revision")} at most${model ? `, with ${model}` : ""}`;
}

function approvalOf({ required, above_cost_usd: cost }) {
  if (required) return "always";
  return cost === null || cost === undefined ? "when a job asks for it" : `above ${money(cost)}`;
}

function findingsOf({ threshold, second_looks: looks, model }) {
  return `kept from ${threshold} % on, ${plural(looks, "second look")} at most by ${model}`;
}

function dynamicOf(workers) {
  if (!workers) return "none";
  return workers.at_most ? `${workers.at_most} at most` : "allowed";
}
