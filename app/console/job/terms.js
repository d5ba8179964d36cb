/** What a job says beside its objective: limits, approval, and the parts that few jobs need. */

import { fill, h } from "../dom.js";
import { choice } from "./fields.js";

const LIMITS = [
  ["cost_usd", "Cost (US dollars)", "decimal"], ["timeout_s", "Time (seconds)", "numeric"],
  ["tokens", "Tokens", "numeric"], ["tasks", "Tasks", "numeric"], ["concurrency", "Tasks at once", "numeric"],
  ["attempts", "Attempts of a task", "numeric"], ["rounds", "Rounds of work", "numeric"],
  ["depth", "Levels of teams", "numeric"],
];

/** Limits; `of(team)` shows what holds where a field is left empty. */
export function limitsPart(draft, fields, changed) {
  const controls = new Map(LIMITS.map(([name, , inputmode]) => [name, h("input", {
    inputmode, value: draft.limits[name] ?? "", size: 8, autocomplete: "off",
    on: { input: (event) => { draft.limits[name] = event.target.value.trim(); changed(); } },
  })]));
  const parts = LIMITS.map(([name, label]) => fields.field(`/limits/${name}`, label, controls.get(name)));
  const element = h("fieldset", { class: "panel stack" }, h("legend", {}, "Limits"),
    h("p", { class: "hint" }, "Fields that are left empty are as the team has them."),
    h("div", { class: "grid" }, parts.slice(0, 2)),
    h("details", { open: LIMITS.slice(2).some(([name]) => draft.limits[name]) }, h("summary", {}, "More limits"), h("div", { class: "grid" }, parts.slice(2))));
  const of = (team) => {
    for (const [name, control] of controls) control.placeholder = team?.limits[name] ?? "no limit";
  };
  return { element, of };
}

/** Whether people are asked: for the plan, and when a worker does not know. */
export function peoplePart(draft, fields, changed) {
  const approval = h("input", {
    type: "checkbox", id: "approval", checked: draft.approval === "plan",
    on: { change: () => { draft.approval = approval.checked ? "plan" : ""; changed(); } },
  });
  const wrong = fields.place("/approval", approval, h("p", { class: "wrong", hidden: true }));
  return h("fieldset", { class: "panel stack" }, h("legend", {}, "People"),
    h("div", { class: "field" }, h("p", {}, approval, " ", h("label", { for: "approval" }, "Have somebody approve the plan before anything runs")), wrong),
    fields.field("/on_question", "When a worker has a question", choice([
      ["", "ask, and wait for an answer"], ["default", "go on by what it would assume"], ["fail", "let the run fail"],
    ], draft.on_question, (value) => { draft.on_question = value; changed(); })));
}

/** The parts that few jobs need, folded away. */
export function furtherPart(draft, fields, changed) {
  const text = (name, props = {}) => h("textarea", {
    rows: 4, spellcheck: "false", ...props, value: draft[name], on: { input: (event) => { draft[name] = event.target.value; changed(); } },
  });
  const pick = (name, options) => choice(options, draft[name], (value) => { draft[name] = value; changed(); });
  const within = (name, props) => h("input", {
    ...props, value: draft.webhook[name], on: { input: (event) => { draft.webhook[name] = event.target.value.trim(); changed(); } },
  });
  const isUsed = ["strategy", "planning", "output_schema", "rubric", "priority", "plan"].some((name) => draft[name]) || draft.metadata.length || draft.webhook.url;
  return h("details", { class: "panel", open: Boolean(isUsed) }, h("summary", {}, "Further terms"), h("div", { class: "stack" },
    metadataPart(draft, fields, changed),
    h("div", { class: "grid" },
      fields.field("/strategy", "Results become the answer by", pick("strategy", [["", "as the team or the plan says"], ["merge", "merging them"], ["select", "choosing the best of several"], ["reduce", "reducing them in groups"]])),
      fields.field("/planning", "The plan is made by", pick("planning", [["", "as the team does it"], ["model", "the supervisor"], ["template", "the team's template"]])),
      fields.field("/priority", "Priority", h("input", { inputmode: "numeric", size: 5, placeholder: "0", value: draft.priority, on: { input: (event) => { draft.priority = event.target.value.trim(); changed(); } } }), "From -100 to 100; higher ones start first.")),
    fields.field("/rubric", "Rubric", text("rubric", { spellcheck: "true" }), "What a critic holds the answer against before it goes out."),
    fields.field("/output_schema", "Output schema", text("output_schema", { class: "mono", placeholder: '{"type": "object", …}' }), "A JSON Schema that the data of the result then fits."),
    fields.field("/plan", "Plan", text("plan", { class: "mono", placeholder: '{"tasks": [{"id": "a", "instruction": "…", "worker": "…"}]}' }), "A plan of your own as JSON; the supervisor is not asked for one then."),
    h("div", { class: "grid" },
      fields.field("/webhook/url", "Webhook", within("url", { type: "url", placeholder: "https://…" }), "Told when the run ends or waits for people."),
      fields.field("/webhook/secret", "Its secret", within("secret", { type: "password", autocomplete: "off", placeholder: "whsec_…" }), "Not kept over a reload."))));
}

function metadataPart(draft, fields, changed) {
  const rows = h("div", { class: "stack" });
  const add = h("button", { type: "button", on: { click: () => { draft.metadata.push({ key: "", value: "" }); draw(); rows.lastElementChild.querySelector("input").focus(); } } }, "Add a label");
  const wrong = fields.place("/metadata", add, h("p", { class: "wrong", hidden: true }));
  draw();
  return h("div", { class: "field", role: "group", "aria-label": "Metadata" },
    h("h3", {}, "Metadata"), h("p", { class: "hint" }, "Labels by which runs are found again."), rows, wrong, h("p", {}, add));

  function draw() {
    fill(rows, draft.metadata.map((label, place) => h("div", { class: "row" },
      part(label, "key", `Key of label ${place + 1}`, "ticket"), part(label, "value", `Value of label ${place + 1}`, "T-1"),
      h("button", { type: "button", class: "plain", "aria-label": `Remove label ${place + 1}`, on: { click: () => { draft.metadata.splice(place, 1); draw(); changed(); add.focus(); } } }, "Remove"))));
  }

  function part(label, name, said, placeholder) {
    return h("input", { value: label[name], "aria-label": said, placeholder, size: 14, on: { input: (event) => { label[name] = event.target.value; changed(); } } });
  }
}
