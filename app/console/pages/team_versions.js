/** The versions of a team, and its definition to copy. */

import { copy } from "../clipboard.js";
import { h } from "../dom.js";
import { moment } from "../format.js";
import { here } from "../router.js";
import { tableOf } from "../tables.js";
import { yamlOf } from "../yaml.js";
import { definitionOf, originOf } from "./team_words.js";

const COLUMNS = ["Version", "Stored", "By", "Digest", "Difference"];

/** All versions, each to be shown, and to be compared with any other. */
export function versionsPanel(versions, { team, other, select }) {
  const rows = versions.map((kept) => [
    h("a", { href: here({ version: kept.version, against: null }) }, `Version ${kept.version}`),
    moment(kept.created_at),
    [originOf(kept), kept.archived_at && ", archived"],
    h("code", { title: kept.digest }, kept.digest.slice(0, 12)),
    kept.version > 1 && differenceLink(kept.version),
  ]);
  const rowProps = (at) => ({ "aria-current": versions[at].version === team.version ? "true" : null });
  return h("section", { class: "panel" },
    h("header", {}, h("h2", {}, "Versions"), versions.length > 1 && comparing(versions, { team, other, select })),
    tableOf("Versions", COLUMNS, rows, { rowProps }));
}

function differenceLink(version) {
  return h("a", { href: here({ version, against: version - 1 }) }, `to version ${version - 1}`);
}

function comparing(versions, { team, other, select }) {
  const choice = (name, label, chosen, first = null) => h("select", {
    "aria-label": label, on: { change: ({ target }) => select({ [name]: target.value }) },
  }, first && h("option", { value: "", selected: chosen === null }, first), versions.map(({ version }) => (
    h("option", { value: version, selected: version === chosen }, `Version ${version}`))));
  return h("div", { class: "row" },
    choice("version", "Version", team.version), h("span", { class: "quiet" }, "compared with"),
    choice("against", "Compared with", other?.version ?? null, "no other"));
}

/** The definition, in the form that `PUT /v1/teams/{name}` takes: as YAML, or as JSON (`?definition=json`). */
export function definitionPanel(team, form) {
  const asJson = form === "json";
  const value = definitionOf(team);
  const text = asJson ? `${JSON.stringify(value, null, 2)}\n` : yamlOf(value);
  const forms = [["YAML", null, !asJson], ["JSON", "json", asJson]].map(([words, definition, current]) => (
    h("a", { href: here({ definition }), "aria-current": current ? "true" : null }, words)));
  return h("section", { class: "panel" },
    h("header", {},
      h("h2", {}, "Definition"),
      h("nav", { class: "switch", "aria-label": "Form of the definition" }, forms),
      h("button", { on: { click: () => copy(text) } }, "Copy")),
    h("pre", { tabindex: "0", role: "group", "aria-label": "Definition of the team" }, h("code", {}, text)));
}
