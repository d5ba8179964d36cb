/** A team: who is in it, its rules, its versions, and what differs between two of them: `?version=3&against=2`. */

import { get, pages, Problem } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { moment } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { differenceOf } from "./team_difference.js";
import { definitionPanel, versionsPanel } from "./team_versions.js";
import { limitsOf, originOf, rulesOf } from "./team_words.js";
import { routingPanel, supervisorPanel, workersOf } from "./team_workers.js";

const TEMPLATE = "It is made from this template when a job is accepted; no model is asked for it.";

export async function open({ root, params, query, signal, select }) {
  const name = params.team;
  const versions = [];
  for await (const page of pages(`/v1/teams/${name}/versions?limit=100`, { signal })) versions.push(...page);
  const newest = await newestOf(name, versions, signal);
  const known = new Map([[newest.version, newest]]);
  await show(query);
  const follow = (next) => show(next).catch((error) => signal.aborted || announce(error.message));
  return { title: newest.name, follow };

  async function show(query) {
    const team = query.get("version") ? await versioned(Number(query.get("version"))) : newest;
    const other = query.get("against") ? await versioned(Number(query.get("against"))) : null;
    fill(root,
      headerOf(team, newest), other && differenceOf(other, team), parts(team),
      definitionPanel(team, query.get("definition")), versionsPanel(versions, { team, other, select }));
  }

  async function versioned(version) {
    if (!known.has(version)) known.set(version, await get(`/v1/teams/${name}@${version}`, { signal }));
    return known.get(version);
  }
}

/** The newest version; of a team that is archived the list of versions tells which. */
async function newestOf(name, versions, signal) {
  try {
    return await get(`/v1/teams/${name}`, { signal });
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404 || !versions.length) throw error;
    return get(`/v1/teams/${name}@${versions[0].version}`, { signal });
  }
}

function headerOf(team, newest) {
  const isNewest = team.version === newest.version;
  const reference = encodeURIComponent(isNewest ? team.name : `${team.name}@${team.version}`);
  const newJob = h("a", { class: "button main", href: `/console/new?team=${reference}` }, "New job with this team");
  return h("header", { class: "stack" },
    h("div", { class: "row" },
      h("h1", {}, team.name),
      h("span", { class: "chip numbers" }, `version ${team.version}${isNewest ? "" : ` of ${newest.version}`}`),
      h("span", { class: "chip" }, originOf(team)),
      team.archived_at && h("span", { class: "chip" }, `archived ${moment(team.archived_at)}`),
      h("div", { class: "row push" },
        h("a", { class: "button", href: `/console/runs?team=${encodeURIComponent(team.name)}` }, "Its runs"),
        !team.archived_at && newJob)),
    h("p", { class: "lead" }, team.description));
}

function parts(team) {
  return [
    workersOf(team),
    h("div", { class: "columns" },
      panel("How it works", rulesOf(team)),
      panel("Limits of its runs", limitsOf(team), h("p", { class: "quiet small" }, "Unless a job has others."))),
    supervisorPanel(team),
    team.routing.length > 0 && routingPanel(team),
    team.plan_template && panel("Plan of its jobs",
      h("p", { class: "quiet" }, TEMPLATE), jsonTree(team.plan_template, { name: "Plan template" })),
    team.output_schema && panel("Schema of its data", jsonTree(team.output_schema, { name: "Output schema" })),
  ];
}

function panel(title, ...content) {
  return h("section", { class: "panel" }, h("header", {}, h("h2", {}, title)), content);
}
