/** A plan that waits for approval: approved as it is, edited first, or rejected. */

import { post } from "../api.js";
import { ask, field } from "../dialog.js";
import { announce, fill, h, say, set } from "../dom.js";
import { plural } from "../format.js";
import { failure } from "../router.js";
import { tick } from "./deadline.js";
import { PlanEditor } from "./plan_editor.js";
import { quoteOf } from "../quote.js";
import { Written } from "../written.js";
import { meaning, unsavedEdit } from "./saving.js";

const CAUSES = {
  job: "The job wants its plan approved before anything of it begins.",
  team: "The team wants its plans approved before anything of them begins.",
  cost: "It is likely to cost more than the team lets plans cost without approval, or that is not known.",
};
const DEFAULTS = {
  approve: "it is approved unless somebody decides",
  reject: "it is rejected unless somebody decides",
};
const REASON_CHARACTERS = 2000;

export function approvalView(store) {
  const wrong = h("div");
  const edits = h("div");
  const approve = h("button", { type: "button", class: "main", on: { click: () => decide(approved) } }, "Approve");
  const edit = h("button", { type: "button", on: { click: () => store.select({ edit: "plan" }) } }, "Edit…");
  const reject = h("button", { type: "button", class: "danger", on: { click: () => decide(rejected) } }, "Reject…");
  const choices = h("div", { class: "actions" }, approve, edit, reject);
  const told = tellingView(choices);
  const element = h("section", { class: "panel approval", hidden: true, "aria-labelledby": "approval-title" },
    told.element, wrong, edits);
  const unsaved = unsavedEdit(store.id);
  let revision = null;
  let editor = null;
  return { element, draw };

  function draw() {
    const { approval, plan, finishedAt } = store.fold;
    const open = Boolean(approval && !approval.decided && finishedAt === null && store.caughtUp);
    const editing = store.query.get("edit") === "plan" && (open || editor !== null);
    set(element, { hidden: !open && !editing });
    set(told.element, { hidden: !open });
    set(choices, { hidden: editing || !open });
    say(edit, unsaved.read() ? "Go on with your edit…" : "Edit…");
    if (open) {
      revision = plan.revision;
      told.draw(approval, plan);
    }
    if (editing !== (editor !== null)) turn(editing);
    editor?.draw(open);
  }

  function turn(editing) {
    editor?.close();
    editor = editing ? new PlanEditor(store, () => store.select({ edit: null })) : null;
    fill(edits, editor?.element);
    if (!editing) edit.focus();
  }

  /** Decide on the revision that is shown, and no other. */
  async function decide(how) {
    fill(wrong);
    const buttons = [approve, edit, reject];
    for (const button of buttons) set(button, { disabled: true });
    try {
      const run = await how(store, meaning(revision));
      if (run) store.take(run);
    } catch (error) {
      const changed = "Somebody has changed the plan meanwhile. Look at it as it is now, and decide then.";
      const is412 = error.code === "plan_changed";
      if (error.name === "AbortError") return;
      fill(wrong, is412 ? h("p", { class: "notice", role: "alert" }, changed) : failure(error));
    } finally {
      for (const button of buttons) set(button, { disabled: false });
    }
  }
}

/** Why it waits, until when, what can be done, and what it is to take. */
function tellingView(choices) {
  const title = h("h2", { id: "approval-title" });
  const why = h("p", { class: "quiet" });
  const deadline = h("p", { class: "deadline numbers" });
  const warnings = h("div");
  const quote = h("div");
  const words = h("div", { class: "stack" }, title, why, deadline, choices, warnings);
  const element = h("div", { class: "approval-head" }, words, quote);
  let drawn = null;
  return { element, draw };

  function draw(approval, plan) {
    tick(deadline, approval.expiresAt, DEFAULTS[approval.default]);
    if (drawn === plan.revision) return;
    drawn = plan.revision;
    say(title, `${plan.revision === 1 ? "This plan" : `Revision ${plan.revision} of the plan`} waits for approval`);
    say(why, [CAUSES[approval.cause], plan.reason].filter(Boolean).join(" "));
    fill(quote, quoteOf(plan.quote));
    fill(warnings, warningsOf(plan.validation.warnings));
  }
}

function warningsOf(odd) {
  if (!odd.length) return null;
  const items = odd.map(({ pointer, detail }) => h("li", {}, h("code", {}, pointer), " ", detail));
  return h("details", {}, h("summary", {}, `${plural(odd.length, "oddity", "oddities")} in it`), h("ul", {}, items));
}

async function approved(store, headers) {
  const run = await post(`/v1/runs/${store.id}/plan/approve`, undefined, { headers });
  announce("The plan is approved: the run goes on.");
  return run;
}

async function rejected(store, headers) {
  const reason = h("textarea", { id: "reject-reason", name: "reason", maxlength: REASON_CHARACTERS, rows: 3 });
  const body = [h("p", {}, "The run fails, and nothing of the plan begins."),
    field("Reason", reason, "Shown with the run; may be left out.")];
  const written = new Written(`reject/${store.id}`);
  const words = { action: "Reject the plan", leave: "Let it wait", danger: true, written };
  const given = await ask("Reject this plan?", body, words);
  if (!given) return null;
  const said = { reason: given.get("reason").trim() || null };
  const run = await post(`/v1/runs/${store.id}/plan/reject`, said, { headers });
  written.forget();
  return run;
}
