/** The workers of a team as cards, and its supervisor. */

import { h } from "../dom.js";
import { duration, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { facts } from "./team_words.js";

export function workersOf({ workers, dynamic_workers: dynamic }) {
  return h("section", { class: "stack" },
    h("h2", {}, plural(workers.length, "worker")),
    !workers.length && h("p", { class: "panel empty" }, dynamic ? "The team has none of its own: its plans bring them along." : "The team has none."),
    h("ul", { class: "cards" }, workers.map(cardOf)));
}

function cardOf(worker) {
  const { name, description, team, model, tools, instructions, output_schema: schema } = worker;
  return h("li", { class: "panel worker-card", id: `worker-${name}` },
    h("div", { class: "row" }, h("h3", {}, name), h("span", { class: "chip push" }, team ? "a team" : model)),
    h("p", {}, description),
    tools.length > 0 && h("p", { class: "chips" }, tools.map((tool) => h("a", { class: "chip", href: `/console/tools?tool=${encodeURIComponent(tool)}` }, tool))),
    facts([
      ["Done by", team && h("a", { href: `/console/teams/${encodeURIComponent(team.split("@")[0])}${team.includes("@") ? `?version=${team.split("@")[1]}` : ""}` }, team)],
      ["Attempt", team ? null : `${plural(worker.max_steps, "reply", "replies")}, ${duration(worker.timeout_s * 1000)} at most`],
      ["Must use", worker.must_use.map((each) => [each].flat().join(" or ")).join(", ")],
      ["Fails over to", worker.fallback],
      ["Kind", worker.kind],
      ["Brings", worker.output === "findings" ? "findings, each at a place in an input" : null],
      ["Checked by code", worker.checks.map((each) => each.replaceAll("_", " ")).join(", ")],
      ["Files", worker.artifacts ? "may hand over files" : null],
    ]),
    instructions && h("details", {}, h("summary", {}, "What it is told"), h("pre", { tabindex: "0", role: "group", "aria-label": `What ${name} is told` }, instructions)),
    schema && h("details", {}, h("summary", {}, "Schema of its data"), jsonTree(schema, { name: `Schema of ${name}` })));
}

export function supervisorOf({ supervisor }) {
  const { model, instructions, examples, artifacts } = supervisor;
  return h("section", { class: "panel stack" },
    h("div", { class: "row" }, h("h2", {}, "Supervisor"), h("span", { class: "chip push" }, model)),
    h("p", { class: "quiet" }, "It plans, decides where workers cannot go on, and makes the answer", artifacts ? ", with files where it has some." : "."),
    instructions && h("details", {}, h("summary", {}, "What it is told about the team"), h("pre", { tabindex: "0", role: "group", "aria-label": "What the supervisor is told" }, instructions)),
    examples.length > 0 && h("details", {}, h("summary", {}, plural(examples.length, "example of a plan", "examples of plans")), examples.map((example, at) => h("pre", { tabindex: "0", role: "group", "aria-label": `Example ${at + 1}` }, example))));
}
