/** The tools that workers may be given: what they do, what is passed to them. `?tool=calculate` opens one. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { duration, plural } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { effectOf, facts } from "./team_words.js";

const STATES = { ready: "closed", connecting: "waiting", down: "open" };

export async function open({ root, query, signal }) {
  const [{ data: tools }, { data: teams }] = await Promise.all([get("/v1/tools", { signal }), get("/v1/teams", { signal })]);
  fill(root,
    h("header", { class: "row" }, h("h1", {}, "Tools"), h("span", { class: "quiet" }, plural(tools.length, "tool")), h("a", { class: "push", href: "/console/teams" }, "Teams")),
    tools.length ? h("ul", { class: "cards" }, tools.map((tool) => cardOf(tool, usersOf(tool, teams))))
      : h("p", { class: "panel empty" }, "There is no tool here. Tools come with the service, with packages that are installed beside it, and from MCP servers."));
  chosen(query);
  return { title: "Tools", follow: chosen };

  function chosen(query) {
    for (const card of root.querySelectorAll("[data-chosen]")) card.removeAttribute("data-chosen");
    const card = query.get("tool") && root.querySelector(`[data-tool="${CSS.escape(query.get("tool"))}"]`);
    if (!card) return;
    card.dataset.chosen = "";
    card.scrollIntoView({ block: "center" });
  }
}

function usersOf({ name }, teams) {
  return teams.filter((team) => team.workers.some((worker) => worker.tools.includes(name)));
}

function cardOf(tool, teams) {
  const { name, description, input_schema: schema, timeout_s: seconds, provider, package: origin, server, state } = tool;
  return h("li", { class: "panel worker-card", data: { tool: name } },
    h("div", { class: "row" }, h("h2", {}, name), state !== "ready" && h("span", { class: "state", data: { state: STATES[state] } }, state === "down" ? "✕ down" : "◔ connecting")),
    h("p", {}, description),
    facts([
      ["Effect", effectOf(tool)], ["A call", `${duration(seconds * 1000)} at most`],
      ["Comes from", server ? `the MCP server ${server}` : origin ? `the package ${origin}` : provider ? "the provider of the model, who runs it" : null],
      ["Used by", teams.map((team, at) => [at ? ", " : "", h("a", { href: `/console/teams/${encodeURIComponent(team.name)}` }, team.name)])],
    ]),
    h("details", {}, h("summary", {}, "What is passed to it"), jsonTree(schema, { name: `Input of ${name}` })));
}
