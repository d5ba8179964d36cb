/** What a job says beside its objective: limits, approval, and the parts that few jobs need. */

import { fill, h } from "../dom.js";
import { choice, typed } from "./fields.js";

const USUAL_LIMITS = [["cost_usd", "Cost (US dollars)", "decimal"], ["timeout_s", "Time (seconds)", "numeric"]];
const MORE_LIMITS = [
  ["tokens", "Tokens", "numeric"], ["tasks", "Tasks", "numeric"], ["concurrency", "Tasks at once", "numeric"],
  ["attempts", "Attempts of a task", "numeric"], ["rounds", "Rounds of work", "numeric"],
  ["depth", "Levels of teams", "numeric"],
];
const ON_QUESTION = [
  ["", "ask, and wait for an answer"], ["default", "go on by what it would assume"], ["fail", "let the run fail"],
];
const STRATEGIES = [
  ["", "as the team or the plan says"], ["merge", "merging them"], ["select", "choosing the best of several"],
  ["reduce", "reducing them in groups"],
];
const PLANNING = [["", "as the team does it"], ["model", "the supervisor"], ["template", "the team's template"]];
const FURTHER = ["strategy", "planning", "output_schema", "rubric", "priority", "plan"];

/** Limits; `of(team)` shows what holds where a field is left empty. */
export function limitsPart(draft, fields, changed) {
  const controls = new Map();
  const field = ([name, label, inputmode]) => {
    controls.set(name, typed("input", draft.limits, name, changed, { inputmode, size: 8, autocomplete: "off" }));
    return fields.field(`/limits/${name}`, label, controls.get(name));
  };
  const element = h("fieldset", { class: "panel stack" }, h("legend", {}, "Limits"),
    h("p", { class: "hint" }, "Fields that are left empty are as the team has them."),
    h("div", { class: "grid" }, USUAL_LIMITS.map(field)),
    h("details", { open: MORE_LIMITS.some(([name]) => draft.limits[name]) }, h("summary", {}, "More limits"),
      h("div", { class: "grid" }, MORE_LIMITS.map(field))));
  const of = (team) => {
    for (const [name, control] of controls) control.placeholder = team?.limits[name] ?? "no limit";
  };
  return { element, of };
}

/** Whether people are asked: for the plan, and when a worker does not know. */
export function peoplePart(draft, fields, changed) {
  const approval = h("input", { type: "checkbox", id: "approval", checked: draft.approval === "plan" });
  approval.addEventListener("change", () => {
    draft.approval = approval.checked ? "plan" : "";
    changed();
  });
  const label = h("label", { for: approval.id }, "Have somebody approve the plan before anything runs");
  return h("fieldset", { class: "panel stack" }, h("legend", {}, "People"),
    h("div", { class: "field" }, h("p", {}, approval, " ", label), fields.place("/approval", approval)),
    fields.field("/on_question", "When a worker has a question", choice(ON_QUESTION, draft, "on_question", changed)));
}

/** The parts that few jobs need, folded away. */
export function furtherPart(draft, fields, changed) {
  const code = { rows: 4, class: "mono", spellcheck: "false" };
  const json = (name, placeholder) => typed("textarea", draft, name, changed, { ...code, placeholder });
  const priority = typed("input", draft, "priority", changed, { inputmode: "numeric", size: 5, placeholder: "0" });
  const secret = { type: "password", autocomplete: "off", placeholder: "whsec_…" };
  const hook = (name, props) => typed("input", draft.webhook, name, changed, props);
  const isUsed = FURTHER.some((name) => draft[name]) || draft.metadata.length > 0 || draft.webhook.url !== "";
  return h("details", { class: "panel", open: isUsed }, h("summary", {}, "Further terms"), h("div", { class: "stack" },
    metadataPart(draft, fields, changed),
    h("div", { class: "grid" },
      fields.field("/strategy", "Results become the answer by", choice(STRATEGIES, draft, "strategy", changed)),
      fields.field("/planning", "The plan is made by", choice(PLANNING, draft, "planning", changed)),
      fields.field("/priority", "Priority", priority, "From -100 to 100; higher ones start first.")),
    fields.field("/rubric", "Rubric", typed("textarea", draft, "rubric", changed, { rows: 3 }),
      "What a critic holds the answer against before it goes out."),
    fields.field("/output_schema", "Output schema", json("output_schema", '{"type": "object", …}'),
      "A JSON Schema that the data of the result then fits."),
    fields.field("/plan", "Plan", json("plan", '{"tasks": [{"id": "a", "instruction": "…", "worker": "…"}]}'),
      "A plan of your own as JSON; the supervisor is not asked for one then."),
    h("div", { class: "grid" },
      fields.field("/webhook/url", "Webhook", hook("url", { type: "url", placeholder: "https://…" }),
        "Told when the run ends or waits for people."),
      fields.field("/webhook/secret", "Its secret", hook("secret", secret), "Not kept over a reload."))));
}

function metadataPart(draft, fields, changed) {
  const rows = h("div", { class: "stack" });
  const add = h("button", { type: "button", on: { click: addRow } }, "Add a label");
  const wrong = fields.place("/metadata", add);
  draw();
  return h("div", { class: "field", role: "group", "aria-label": "Metadata" },
    h("strong", {}, "Metadata"), h("p", { class: "hint" }, "Labels by which runs are found again."), rows, wrong,
    h("p", {}, add));

  function addRow() {
    draft.metadata.push({ key: "", value: "" });
    draw();
    rows.lastElementChild.querySelector("input").focus();
  }

  function remove(place) {
    draft.metadata.splice(place, 1);
    draw();
    changed();
    add.focus();
  }

  function draw() {
    fill(rows, draft.metadata.map((label, place) => h("div", { class: "row" },
      part(label, "key", `Key of label ${place + 1}`, "ticket"),
      part(label, "value", `Value of label ${place + 1}`, "T-1"),
      h("button", {
        type: "button", class: "plain", "aria-label": `Remove label ${place + 1}`, on: { click: () => remove(place) },
      }, "Remove"))));
  }

  function part(label, name, said, placeholder) {
    return typed("input", label, name, changed, { "aria-label": said, placeholder, size: 14 });
  }
}
