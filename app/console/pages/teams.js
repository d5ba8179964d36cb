/** The teams that a job may name, in their newest versions. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { moment, plural } from "../format.js";
import { originOf } from "./team_words.js";

const WORKERS_SHOWN = 8;
const NONE = "No team is offered here. One is put with PUT /v1/teams/{name}, or comes from a file of the operator.";

export async function open({ root, signal }) {
  const { data: teams } = await get("/v1/teams", { signal });
  const header = h("header", { class: "row" },
    h("h1", {}, "Teams"), h("span", { class: "quiet" }, plural(teams.length, "team")),
    h("a", { class: "push", href: "/console/tools" }, "Tools"));
  const cards = h("ul", { class: "cards" }, teams.map(cardOf));
  fill(root, header, teams.length ? cards : h("p", { class: "panel empty" }, NONE));
  return { title: "Teams" };
}

function cardOf(team) {
  const { name, description, version } = team;
  const newJob = h("a", {
    class: "push", href: `/console/new?team=${encodeURIComponent(name)}`, "aria-label": `New job with ${name}`,
  }, "New job");
  return h("li", { class: "panel team-card" },
    h("h2", {}, h("a", { href: `/console/teams/${encodeURIComponent(name)}` }, name)),
    h("p", { class: "clamp" }, description),
    workersOf(team),
    h("p", { class: "row small quiet foot" },
      h("span", { class: "numbers", title: `Stored ${moment(team.created_at)}` }, `Version ${version}`),
      h("span", {}, originOf(team)), newJob));
}

function workersOf({ workers }) {
  const more = workers.length - WORKERS_SHOWN;
  return h("p", { class: "chips" },
    workers.slice(0, WORKERS_SHOWN).map((worker) => h("span", { class: "chip" }, worker.name)),
    more > 0 && h("span", { class: "quiet small" }, `${more} more`));
}
