/** The workers of a team as cards, its supervisor, and its rules of who does what. */

import { h } from "../dom.js";
import { facts } from "../facts.js";
import { duration, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { tableOf } from "../tables.js";

const NONE = "The team has none.";
const ITS_OWN = "The team has none of its own: its plans bring them along.";
const ROUTES = ["When it says one of", "and", "Sends", "To", "Then"];

export function workersOf({ workers, dynamic_workers: dynamic }) {
  return h("section", { class: "stack" },
    h("h2", {}, plural(workers.length, "worker")),
    !workers.length && h("p", { class: "panel empty" }, dynamic ? ITS_OWN : NONE),
    h("ul", { class: "cards" }, workers.map(cardOf)));
}

function cardOf(worker) {
  const { name, description, team, model, tools, instructions, output_schema: schema } = worker;
  return h("li", { class: "panel worker-card" },
    h("div", { class: "row" }, h("h3", {}, name), h("span", { class: "chip push" }, team ? "a team" : model)),
    h("p", {}, description),
    tools.length > 0 && h("p", { class: "chips" }, tools.map(toolLink)),
    factsOf(worker),
    instructions && told("What it is told", `What ${name} is told`, instructions),
    schema && h("details", {},
      h("summary", {}, "Schema of its data"), jsonTree(schema, { name: `Schema of ${name}` })));
}

function toolLink(tool) {
  return h("a", { class: "chip", href: `/console/tools?tool=${encodeURIComponent(tool)}` }, tool);
}

function factsOf({ team, max_steps: steps, timeout_s: seconds, ...worker }) {
  return facts([
    ["Done by", team && teamLink(team)],
    ["Attempt", !team && `${plural(steps, "reply", "replies")}, ${duration(seconds * 1000)} at most`],
    ["Must use", worker.must_use.map((each) => [each].flat().join(" or ")).join(", ")],
    ["Fails over to", worker.fallback],
    ["Kind", worker.kind],
    ["Brings", worker.output === "findings" && "findings, each at a place in an input"],
    ["Checked by code", worker.checks.map((each) => each.replaceAll("_", " ")).join(", ")],
    ["Files", worker.artifacts && "may hand over files"],
  ]);
}

function teamLink(reference) {
  const [name, version] = reference.split("@");
  const address = `/console/teams/${encodeURIComponent(name)}`;
  return h("a", { href: version ? `${address}?version=${version}` : address }, reference);
}

function told(words, label, text) {
  return h("details", {},
    h("summary", {}, words), h("pre", { tabindex: "0", role: "group", "aria-label": label }, text));
}

export function supervisorPanel({ supervisor }) {
  const { model, instructions, examples, artifacts } = supervisor;
  const files = artifacts ? ", with files where it has some." : ".";
  return h("section", { class: "panel stack" },
    h("div", { class: "row" }, h("h2", {}, "Supervisor"), h("span", { class: "chip push" }, model)),
    h("p", { class: "quiet" }, `It plans, decides where workers cannot go on, and makes the answer${files}`),
    instructions && told("What it is told about the team", "What the supervisor is told", instructions),
    examples.map((example, at) => told(`Example of a plan ${at + 1}`, `Example ${at + 1}`, example)));
}

export function routingPanel({ routing }) {
  const rows = routing.map(({ when, applies_to: what, worker, secondary }) => [
    when.contains.join(", ") || "anything",
    when.inputs === null ? "" : when.inputs ? "has inputs" : "has no inputs",
    what === "both" ? "jobs and tasks" : what,
    worker,
    secondary && [secondary.worker, h("div", { class: "quiet small" }, secondary.instruction)],
  ]);
  const words = h("span", { class: "quiet small" }, "The first rule that fits is followed, and no model is asked.");
  const header = h("header", {}, h("h2", {}, "Routing"), words);
  return h("section", { class: "panel" }, header, tableOf("Routing", ROUTES, rows));
}
