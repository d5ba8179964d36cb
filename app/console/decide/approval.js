/** A plan that waits for approval: approved as it is, edited first, or rejected. */

import { post } from "../api.js";
import { ask, field } from "../dialog.js";
import { announce, fill, h, set } from "../dom.js";
import { failure } from "../router.js";
import { tick } from "./deadline.js";
import { PlanEditor } from "./plan_editor.js";
import { quoteOf } from "./quote.js";
import { meaning } from "./saving.js";

const CAUSES = {
  job: "The job wants its plan approved before anything of it begins.",
  team: "The team wants its plans approved before anything of them begins.",
  cost: "It is likely to cost more than the team lets plans cost without approval, or that is not known.",
};
const DEFAULTS = { approve: "it is approved unless somebody decides", reject: "it is rejected unless somebody decides" };

export function approvalView(store) {
  const deadline = h("p", { class: "deadline numbers" });
  const why = h("p", { class: "quiet" });
  const quote = h("div");
  const warnings = h("div");
  const wrong = h("div");
  const edits = h("div");
  const approve = h("button", { type: "button", class: "main", on: { click: () => decide(approved) } }, "Approve");
  const edit = h("button", { type: "button", on: { click: () => store.select({ edit: "plan" }) } }, "Edit…");
  const reject = h("button", { type: "button", class: "danger", on: { click: () => decide(rejected) } }, "Reject…");
  const title = h("h2", { id: "approval-title" });
  const choices = h("div", { class: "actions" }, approve, edit, reject);
  const element = h("section", { class: "panel approval", hidden: true, "aria-labelledby": "approval-title" },
    h("div", { class: "approval-head" }, h("div", { class: "stack" }, title, why, deadline, choices, wrong, warnings), quote), edits);
  const drawn = { revision: null, editor: null };
  return { element, draw };

  function draw() {
    const { approval, plan, finishedAt } = store.fold;
    const open = Boolean(approval && !approval.decided && finishedAt === null && store.caughtUp);
    const editing = store.query.get("edit") === "plan" && Boolean(plan) && (open || drawn.editor !== null);
    set(element, { hidden: !open && !editing });
    if (open) drawOpen(approval, plan);
    if (!open && editing) fill(choices);
    if (!editing && drawn.editor) close();
    if (editing && !drawn.editor) {
      drawn.editor = new PlanEditor(store, () => store.select({ edit: null }));
      fill(edits, drawn.editor.element);
    }
    drawn.editor?.draw(open);
    set(choices, { hidden: editing });
  }

  function drawOpen(approval, plan) {
    tick(deadline, approval.expiresAt, DEFAULTS[approval.default]);
    if (drawn.revision === plan.revision) return;
    drawn.revision = plan.revision;
    fill(title, plan.revision === 1 ? "This plan waits for approval" : `Revision ${plan.revision} of the plan waits for approval`);
    fill(why, CAUSES[approval.cause] ?? "", plan.reason ? ` ${plan.reason}` : "");
    fill(quote, quoteOf(plan.quote));
    const odd = plan.validation.warnings;
    fill(warnings, odd.length > 0 && h("details", {}, h("summary", {}, `${odd.length === 1 ? "One thing is" : `${odd.length} things are`} odd about it`),
      h("ul", {}, odd.map(({ pointer, detail }) => h("li", {}, h("code", {}, pointer), " ", detail)))));
  }

  function close() {
    drawn.editor = null;
    fill(edits);
    edit.focus();
  }

  /** Decide on the revision that is shown, and no other. */
  async function decide(how) {
    fill(wrong);
    const buttons = [approve, edit, reject];
    for (const button of buttons) set(button, { disabled: true });
    try {
      const run = await how(meaning(drawn.revision));
      if (run) store.take(run);
    } catch (error) {
      const changed = error.code === "plan_changed";
      fill(wrong, changed ? h("p", { class: "notice", role: "alert" }, "Somebody has changed the plan meanwhile. Look at it as it is now, and decide then.") : failure(error));
    } finally {
      for (const button of buttons) set(button, { disabled: false });
    }
  }

  async function approved(headers) {
    const run = await post(`/v1/runs/${store.id}/plan/approve`, undefined, { headers });
    announce("The plan is approved: the run goes on.");
    return run;
  }

  async function rejected(headers) {
    const reason = h("textarea", { id: "reject-reason", name: "reason", maxlength: 2000, rows: 3 });
    const given = await ask("Reject this plan?", [h("p", {}, "The run fails, and nothing of the plan begins."),
      field("Reason", reason, "Shown with the run; may be left out.")], { action: "Reject the plan", leave: "Let it wait", danger: true });
    if (!given) return null;
    return post(`/v1/runs/${store.id}/plan/reject`, { reason: given.get("reason").trim() || null }, { headers });
  }
}
