/** The teams that a job may name, in their newest versions. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { moment, plural } from "../format.js";
import { originOf } from "./team_words.js";

const WORKERS_SHOWN = 8;

export async function open({ root, signal }) {
  const { data: teams } = await get("/v1/teams", { signal });
  fill(root,
    h("header", { class: "row" }, h("h1", {}, "Teams"), h("span", { class: "quiet" }, plural(teams.length, "team")), h("a", { class: "push", href: "/console/tools" }, "Tools")),
    teams.length ? h("ul", { class: "cards" }, teams.map(cardOf))
      : h("p", { class: "panel empty" }, "No team is offered here. One is put with PUT /v1/teams/{name}, or comes from a file in the operator's folder of teams."));
  return { title: "Teams" };
}

function cardOf(team) {
  const { name, description, workers, version } = team;
  const address = `/console/teams/${encodeURIComponent(name)}`;
  return h("li", { class: "panel team-card" },
    h("h2", {}, h("a", { href: address }, name)),
    h("p", { class: "clamp" }, description),
    h("p", { class: "chips" }, workers.slice(0, WORKERS_SHOWN).map((worker) => h("span", { class: "chip" }, worker.name)), workers.length > WORKERS_SHOWN && h("span", { class: "quiet small" }, `${workers.length - WORKERS_SHOWN} more`)),
    h("p", { class: "row small quiet foot" }, h("span", { class: "numbers", title: `Stored ${moment(team.created_at)}` }, `Version ${version}`), h("span", {}, originOf(team)), h("a", { class: "push", href: `/console/new?team=${encodeURIComponent(name)}`, "aria-label": `New job with ${name}` }, "New job")));
}
