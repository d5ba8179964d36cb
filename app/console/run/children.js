/** The runs inside a run: what teams do for its tasks, with how far each is. */

import { get, withQuery } from "../api.js";
import { h, keep, say, set } from "../dom.js";
import { count, duration, money, SIGNS, stateOf } from "../format.js";
import { atMostEvery } from "../frames.js";

const LOOK_MS = 3000;
const AT_MOST = 100;

export function childrenView(store) {
  const list = h("ul", { class: "children", "aria-label": "Runs inside this run" });
  const element = h("div", { class: "inside", hidden: true }, h("h3", {}, "Runs inside this run"), list);
  const runs = new Map();
  const looks = atMostEvery(LOOK_MS, look);
  let drawn = -1;
  return { element, draw };

  function draw() {
    const { children, lastSeq } = store.fold;
    if (!children.size) return;
    const open = [...children.values()].some(({ run, status }) => status === "running" || !runs.has(run));
    if (open && store.caughtUp) looks();
    if (drawn === lastSeq) return;
    drawn = lastSeq;
    show();
  }

  async function look() {
    const answer = await get(withQuery("/v1/runs", { parent: store.id, limit: AT_MOST })).catch(() => null);
    for (const run of answer?.data ?? []) runs.set(run.id, run);
    show();
  }

  function show() {
    set(element, { hidden: false });
    keep(list, [...store.fold.children.values()], {
      key: ({ run }) => run,
      make: ({ run, team, taskId, attempt }) => h("li", { class: "row" },
        h("span", { class: "state" }),
        h("a", { href: `/console/runs/${run}` }, team ? `${team.name}@${team.version}` : run),
        h("span", { class: "quiet small" }, `for ${taskId}${attempt > 1 ? `, attempt ${attempt}` : ""}`),
        h("span", { class: "quiet small numbers taken" })),
      change: (item, child) => {
        const run = runs.get(child.run);
        const status = child.status === "running" && run ? run.status : child.status;
        set(item, { data: { state: status } });
        say(item.querySelector(".state"), `${SIGNS[status] ?? ""} ${run ? stateOf({ ...run, status }) : status}`);
        say(item.querySelector(".taken"), run ? figuresOf(run) : "");
      },
    });
  }
}

function figuresOf({ progress, timing, usage }) {
  const { total, succeeded } = progress.tasks;
  const done = total ? `${count(succeeded)} of ${count(total)} tasks` : null;
  return [done, duration(timing.wall_ms), money(usage.cost_usd)].filter(Boolean).join(" · ");
}
