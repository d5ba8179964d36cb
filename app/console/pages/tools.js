/** The tools that workers may be given: what they do, what is passed to them. `?tool=calculate` opens one. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { facts } from "../facts.js";
import { duration, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { effectOf } from "./team_words.js";

const STATES = { connecting: ["waiting", "◔ connecting"], down: ["failed", "✕ down"] };
const NONE = "There is no tool here. Tools come with the service, with packages beside it, and from MCP servers.";

export async function open({ root, query, signal }) {
  const asked = ["/v1/tools", "/v1/teams"].map((path) => get(path, { signal }));
  const [tools, teams] = (await Promise.all(asked)).map(({ data }) => data);
  const header = h("header", { class: "row" },
    h("h1", {}, "Tools"), h("span", { class: "quiet" }, plural(tools.length, "tool")),
    h("a", { class: "push", href: "/console/teams" }, "Teams"));
  const cards = h("ul", { class: "cards" }, tools.map((tool) => cardOf(tool, usersOf(tool, teams))));
  fill(root, header, tools.length ? cards : h("p", { class: "panel empty" }, NONE));
  choose(query);
  return { title: "Tools", follow: choose };

  function choose(query) {
    const wanted = query.get("tool");
    for (const card of cards.children) card.toggleAttribute("data-chosen", card.dataset.tool === wanted);
    cards.querySelector("[data-chosen]")?.scrollIntoView({ block: "center" });
  }
}

function usersOf({ name }, teams) {
  return teams.filter((team) => team.workers.some((worker) => worker.tools.includes(name)));
}

function cardOf(tool, teams) {
  const { name, description, input_schema: schema, timeout_s: seconds } = tool;
  const [state, words] = STATES[tool.state] ?? [];
  return h("li", { class: "panel worker-card", data: { tool: name } },
    h("div", { class: "row" }, h("h2", {}, name), state && h("span", { class: "state", data: { state } }, words)),
    h("p", {}, description),
    facts([
      ["Effect", effectOf(tool)],
      ["A call", `${duration(seconds * 1000)} at most`],
      ["Comes from", sourceOf(tool)],
      ["Used by", teams.length > 0 && teams.map((team, at) => [at ? ", " : "", teamLink(team)])],
    ]),
    h("details", {}, h("summary", {}, "What is passed to it"), jsonTree(schema, { name: `Input of ${name}` })));
}

function sourceOf({ server, package: origin, provider }) {
  if (server) return `the MCP server ${server}`;
  if (origin) return `the package ${origin}`;
  return provider && "the provider of the model, who runs it";
}

function teamLink({ name }) {
  return h("a", { href: `/console/teams/${encodeURIComponent(name)}` }, name);
}
