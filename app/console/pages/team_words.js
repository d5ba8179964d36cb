/** What the fields of a team say, for people. */

import { h } from "../dom.js";
import { duration, money, plural } from "../format.js";

const ORIGINS = { built_in: "built in", operator: "from a file of the operator", client: "put by a client" };
const EFFECTS = { read: "reads only", idempotent: "may be repeated under the same key", once: "changes something, never repeated" };

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

/** A list of facts; those that say nothing are left out. */
export function facts(entries) {
  const said = entries.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "" && !(Array.isArray(value) && !value.length));
  return h("dl", { class: "facts" }, said.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** The bounds of a team's runs. */
export function limitsOf({ limits }) {
  return facts([
    ["Tasks", limits.tasks], ["At the same time", limits.concurrency], ["Attempts of a task", limits.attempts], ["Time", duration(limits.timeout_s * 1000)],
    ["Cost", limits.cost_usd === null ? "no limit" : money(limits.cost_usd)], ["Tokens", limits.tokens === null ? "no limit" : limits.tokens.toLocaleString("en-US")],
    ["Rounds of work", limits.rounds], ["Levels of teams", limits.depth],
  ]);
}

/** How a team goes about its runs. */
export function rulesOf(team) {
  const { review, approval, findings, stragglers } = team;
  const finds = team.workers.some(({ output }) => output === "findings");
  return facts([
    ["Results become answers", team.strategy ?? "as each plan says"],
    ["Review", review.critic ? `a critic looks at answers, ${plural(review.rounds, "revision")} at most${review.model ? `, with ${review.model}` : ""}` : "none, unless a job has a rubric"],
    ["By", review.criteria?.length > 0 && h("ul", {}, review.criteria.map((each) => h("li", {}, each)))],
    ["Plans wait for approval", approval.required ? "always" : approval.above_cost_usd !== null ? `above ${money(approval.above_cost_usd)}` : "when a job asks for it"],
    ["Conflicts", { surface: "the answer gives every side", fail: "there is no answer", ask_human: "a person is asked" }[team.conflicts]],
    ["Tried on them first", team.conflict_resolution?.map((each) => each.replaceAll("_", " ")).join(", then ")],
    ["After failed attempts", team.ladder?.map((each) => each.replaceAll("_", " ")).join(", then ")],
    ["Stragglers", stragglers && { wait: "are waited for", drop: "are dropped", hedge: "are tried a second time, side by side" }[stragglers.policy]],
    ["Findings", finds && `kept from ${findings.threshold} % on, ${plural(findings.second_looks, "second look")} at most by ${findings.model}`],
    ["Tools", team.tool_isolation === "exclusive" ? "each belongs to one worker" : "may be shared by workers"],
    ["Workers of a plan's own", team.dynamic_workers ? (team.dynamic_workers.at_most ? `${team.dynamic_workers.at_most} at most` : "allowed") : "none"],
    ["Questions wait", duration(team.question_timeout_s * 1000)],
    ["Credentials in inputs", team.mask_inputs ? "are masked" : "stay as they are"],
    ["Files made by code", team.files?.join(", ")],
  ]);
}
