/** The revisions of the plan: which one is looked at, why it was made, and what is different about it. */

import { fill, h, set } from "../dom.js";
import { moment } from "../format.js";
import { here } from "../router.js";

const FIELDS = {
  title: "title",
  instruction: "instruction",
  context: "context",
  success_criterion: "criterion",
  worker: "worker",
  depends_on: "dependencies",
  required: "required",
  on_missing_input: "on missing input",
  budget: "budget",
};
const OF_PLAN = { goal: "goal", strategy: "strategy", final_instruction: "final instruction" };
const NOTHING = { plan: null, removed: [], changes: null };

export function revisionsView(store) {
  const element = h("div", { class: "revisions", hidden: true });
  let drawn = "";
  return { element, shown: () => shown(store), draw };

  function draw() {
    const { fold, query } = store;
    const asked = query.get("revision");
    const next = `${fold.plans.size} ${asked} ${location.search}`;
    if (next === drawn) return;
    drawn = next;
    set(element, { hidden: fold.plans.size < 2 });
    const made = fold.plans.get(Number(asked));
    fill(element, choices(fold, made), made ? told(made, fold.plans.get(made.revision - 1)) : null);
  }
}

/** The plan that is looked at; with a revision in the address also what it has changed: `{plan, removed, changes}`. */
function shown({ fold, query }) {
  const made = fold.plans.get(Number(query.get("revision")));
  if (!made) return { ...NOTHING, plan: fold.plan };
  const before = fold.plans.get(made.revision - 1);
  if (!before) return { ...NOTHING, plan: made };
  const gone = before.tasks.filter(({ id }) => !made.tasks.some((task) => task.id === id));
  const { added, changed } = differenceOf(before, made);
  const changes = new Map([
    ...added.map((id) => [id, "new"]),
    ...changed.map(({ task }) => [task, "changed"]),
    ...gone.map(({ id }) => [id, "removed"]),
  ]);
  return { plan: made, removed: gone, changes };
}

function choices(fold, made) {
  const numbers = [...fold.plans.keys()];
  const link = (revision, text, current) =>
    h("a", { href: here({ revision }), "aria-current": current ? "true" : null }, text);
  return h("nav", { class: "row", "aria-label": "Revisions of the plan" },
    h("span", { class: "quiet small" }, "Revision"),
    numbers.map((number) => link(number, String(number), made?.revision === number)),
    link(null, "As it is now", !made));
}

function told(made, before) {
  const why = made.reason ?? (before ? null : `Made by the ${made.source ?? "supervisor"}.`);
  const about = [h("p", {}, why, " ", h("span", { class: "quiet small" }, moment(made.at)))];
  if (!before) return about;
  const { fields, added, removed, changed } = differenceOf(before, made);
  const named = (word, ids) => ids.length > 0 && h("p", { data: { change: word } }, `${word}: `, ids.join(", "));
  return [
    ...about,
    named("new", added),
    named("removed", removed),
    changed.map(({ task, fields: some }) => detail(`changed: ${task}`, some)),
    fields.length > 0 && detail("changed: the plan itself", fields),
  ];
}

function detail(name, fields) {
  const names = fields.map(({ label }) => label).join(", ");
  return h("details", { data: { change: "changed" } },
    h("summary", {}, name, h("span", { class: "quiet" }, ` (${names})`)),
    fields.map(({ label, before, after }) => h("div", { class: "before-after" },
      h("h3", {}, label), h("del", {}, written(before)), h("ins", {}, written(after)))));
}

/** What is different about a revision: fields of the plan, tasks that are new, gone, and not as they were. */
export function differenceOf(before, after) {
  const old = new Map(before.tasks.map((task) => [task.id, task]));
  const now = new Set(after.tasks.map(({ id }) => id));
  return {
    fields: changesOf(before, after, OF_PLAN),
    added: after.tasks.filter(({ id }) => !old.has(id)).map(({ id }) => id),
    removed: before.tasks.filter(({ id }) => !now.has(id)).map(({ id }) => id),
    changed: after.tasks.filter(({ id }) => old.has(id))
      .map((task) => ({ task: task.id, fields: changesOf(old.get(task.id), task, FIELDS) }))
      .filter(({ fields }) => fields.length),
  };
}

function changesOf(before, after, names) {
  return Object.entries(names).map(([name, label]) => ({ label, before: before[name], after: after[name] }))
    .filter((each) => JSON.stringify(each.before) !== JSON.stringify(each.after));
}

function written(value) {
  if (Array.isArray(value)) return value.join(", ") || "none";
  if (value !== null && typeof value === "object") {
    const set = Object.entries(value).filter(([, each]) => each !== null);
    return set.map(([name, each]) => `${name}: ${each}`).join(", ") || "none";
  }
  return value === "" ? "nothing" : String(value);
}
