/** Which team does the job, and in which version. */

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { plural } from "../format.js";
import { failure } from "../router.js";

const USUAL = "general";

/** The part of the form; `chosen(team)` is told which one it is, once the service has said. */
export function teamPart(draft, fields, { changed, chosen, signal }) {
  let teams = [];
  const select = h("select", { on: { change: () => choose(select.value) } });
  const version = h("select", { "aria-label": "Version", on: { change: () => choose(select.value, version.value) } });
  const about = h("div", { class: "hint" });
  const element = fields.field("/team", "Team", select);
  select.after(version);
  element.append(about);
  offer();
  return { element };

  async function offer() {
    try {
      teams = (await get("/v1/teams", { signal })).data;
      draw();
    } catch (error) {
      if (!signal.aborted) fill(about, failure(error, offer));
    }
  }

  function choose(name, of = "") {
    draft.team = of ? `${name}@${of}` : name;
    draw();
    changed();
  }

  function draw() {
    const [name, of = ""] = (draft.team || USUAL).split("@");
    const team = teams.find((each) => each.name === name);
    const names = teams.map((each) => each.name);
    fill(select, option(team ? names : [name, ...names], name));
    const versions = team ? Array.from({ length: team.version }, (_, place) => String(team.version - place)) : [];
    const newest = h("option", { value: "" }, team ? `newest (${team.version})` : "newest");
    fill(version, newest, option(versions, of, "version "));
    version.hidden = versions.length < 2;
    fill(about, team && [h("p", {}, team.description), more(team)]);
    chosen(team ?? null);
  }
}

function option(values, chosen, before = "") {
  return values.map((value) => h("option", { value, selected: value === chosen }, `${before}${value}`));
}

function more({ name, workers, plan_template: template }) {
  const names = workers.map((worker) => worker.name).join(", ");
  return h("p", {}, `${plural(workers.length, "worker")}: ${names}. `, template && "It plans by a template. ",
    h("a", { href: `/console/teams/${encodeURIComponent(name)}` }, "All about it"));
}
