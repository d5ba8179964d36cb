/** A team: who is in it, by which rules it works, its versions, and what differs between two: `?version=3&against=2`. */

import { get, pages, Problem } from "../api.js";
import { announce, fill, h } from "../dom.js";
import { moment } from "../format.js";
import { jsonTree } from "../json_tree.js";
import { here } from "../router.js";
import { yamlOf } from "../yaml.js";
import { differenceOf } from "./team_difference.js";
import { definitionOf, limitsOf, originOf, rulesOf } from "./team_words.js";
import { supervisorOf, workersOf } from "./team_workers.js";

export async function open({ root, params, query, signal, select }) {
  const name = params.team;
  const versions = [];
  for await (const page of pages(`/v1/teams/${name}/versions?limit=100`, { signal })) versions.push(...page);
  const newest = await teamOf(name, versions, signal);
  const known = new Map([[newest.version, newest]]);

  async function versioned(text) {
    const version = Number(text);
    if (!known.has(version)) known.set(version, await get(`/v1/teams/${name}@${version}`, { signal }));
    return known.get(version);
  }

  async function show(query) {
    const team = query.get("version") ? await versioned(query.get("version")) : newest;
    const other = query.get("against") ? await versioned(query.get("against")) : null;
    fill(root, headerOf(team, newest), other && differenceOf(other, team), parts(team, query), versionsOf(versions, team, other, select));
  }
  await show(query);
  return { title: decodeURIComponent(name), follow: (next) => show(next).catch((error) => signal.aborted || announce(error.message)) };
}

/** The newest version; of a team that is archived the list of versions tells which. */
async function teamOf(name, versions, signal) {
  try {
    return await get(`/v1/teams/${name}`, { signal });
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404 || !versions.length) throw error;
    return get(`/v1/teams/${name}@${versions[0].version}`, { signal });
  }
}

function headerOf(team, newest) {
  const reference = team.version === newest.version ? team.name : `${team.name}@${team.version}`;
  return h("header", { class: "stack" },
    h("div", { class: "row" },
      h("h1", {}, team.name),
      h("span", { class: "chip numbers" }, `version ${team.version}${team.version === newest.version ? "" : ` of ${newest.version}`}`), h("span", { class: "chip" }, originOf(team)),
      team.archived_at && h("span", { class: "chip" }, `archived ${moment(team.archived_at)}`),
      h("div", { class: "row push" },
        h("a", { class: "button", href: `/console/runs?team=${encodeURIComponent(team.name)}` }, "Its runs"),
        !team.archived_at && h("a", { class: "button main", href: `/console/new?team=${encodeURIComponent(reference)}` }, "New job with this team"))),
    h("p", { class: "lead" }, team.description));
}

function parts(team, query) {
  return [
    workersOf(team),
    h("div", { class: "columns" },
      h("section", { class: "panel" }, h("header", {}, h("h2", {}, "How it works")), rulesOf(team)),
      h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Limits of its runs")), limitsOf(team), h("p", { class: "quiet small" }, "Unless a job has others."))),
    supervisorOf(team),
    team.routing.length > 0 && routingOf(team.routing),
    team.plan_template && h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Plan of its jobs")), h("p", { class: "quiet" }, "It is made from this template when a job is accepted; no model is asked for it."), jsonTree(team.plan_template, { name: "Plan template" })),
    team.output_schema && h("section", { class: "panel" }, h("header", {}, h("h2", {}, "Schema of its data")), jsonTree(team.output_schema, { name: "Output schema" })),
    definition(definitionOf(team), query.get("definition") === "json"),
  ];
}

function routingOf(routing) {
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, "Routing"), h("span", { class: "quiet small" }, "The first rule that fits is followed, and no model is asked.")),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Routing" }, h("table", {},
      h("thead", {}, h("tr", {}, ["When it says one of", "and", "Sends", "To", "Then"].map((words) => h("th", { scope: "col" }, words)))),
      h("tbody", {}, routing.map(({ when, applies_to: what, worker, secondary }) => h("tr", {},
        h("td", {}, when.contains.join(", ") || "anything"), h("td", {}, when.inputs === null ? "" : when.inputs ? "has inputs" : "has no inputs"), h("td", {}, what === "both" ? "jobs and tasks" : what),
        h("td", {}, worker), h("td", {}, secondary ? [secondary.worker, h("div", { class: "quiet small" }, secondary.instruction)] : "")))))));
}

function versionsOf(versions, team, other, select) {
  const newest = versions[0].version;
  const chosen = (name, value) => h("select", { "aria-label": name === "version" ? "Version" : "is compared with", value, on: { change: ({ target }) => select({ [name]: target.value }) } },
    name === "against" && h("option", { value: "", selected: value === "" }, "no other"),
    versions.map(({ version }) => h("option", { value: version, selected: String(version) === String(value) }, `Version ${version}`)));
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, "Versions"),
      versions.length > 1 && h("div", { class: "row" }, chosen("version", team.version), h("span", { class: "quiet" }, "compared with"), chosen("against", other?.version ?? ""))),
    h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Versions" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Version", "Stored", "By", "Digest", "Difference"].map((words) => h("th", { scope: "col" }, words)))),
      h("tbody", {}, versions.map(({ version, created_at: at, digest, archived_at: archived, ...kept }) => h("tr", { "aria-current": version === team.version ? "true" : null },
        h("td", { class: "numbers" }, h("a", { href: here({ version: version === newest ? null : version, against: null }) }, `Version ${version}`)),
        h("td", { class: "numbers" }, moment(at)), h("td", {}, originOf(kept), archived && ", archived"), h("td", {}, h("code", { title: digest }, digest.slice(0, 12))),
        h("td", {}, version > 1 ? h("a", { href: here({ version, against: version - 1 }) }, `to version ${version - 1}`) : "")))))));
}

/** The definition to copy, in the form that `PUT /v1/teams/{name}` takes. */
function definition(value, asJson) {
  const text = asJson ? `${JSON.stringify(value, null, 2)}\n` : yamlOf(value);
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, "Definition"),
      h("nav", { class: "choices", "aria-label": "Form of the definition" }, [["YAML", null, !asJson], ["JSON", "json", asJson]].map(([words, form, current]) => h("a", { href: here({ definition: form }), "aria-current": current ? "true" : null }, words))),
      h("button", { on: { click: () => navigator.clipboard.writeText(text).then(() => announce("It is in the clipboard.")) } }, "Copy")),
    h("pre", { tabindex: "0", role: "group", "aria-label": "Definition of the team" }, h("code", {}, text)));
}
