/** The page of a run: what it is, what is to be decided, and one of several views beside what is selected. */

import { get } from "../api.js";
import { fill, h, keep, set } from "../dom.js";
import { beginning, hasEnded } from "../format.js";
import { answerView } from "../run/answer.js";
import { decideView } from "../run/decide.js";
import { detailView } from "../run/detail.js";
import { filesView } from "../run/files.js";
import { graphView } from "../run/graph.js";
import { headerView } from "../run/header.js";
import { lanesView } from "../run/lanes.js";
import { logView } from "../run/log.js";
import { isOnlyPlanned } from "../run/planned.js";
import { here } from "../router.js";
import { RunStore } from "../run/store.js";

const VIEWS = [["work", "Work"], ["answer", "Answer"], ["log", "Log"], ["files", "Files"]];

export async function open({ root, params, query, signal, select }) {
  const run = await get(`/v1/runs/${encodeURIComponent(params.run)}`, { signal });
  const store = new RunStore(run, { query, signal, select });
  const first = hasEnded(run) && run.result && !isOnlyPlanned(run) ? "answer" : "work";
  const parts = {
    work: [graphView(store), lanesView(store)],
    answer: [answerView(store)],
    log: [logView(store)],
    files: [filesView(store)],
  };
  const tabs = h("nav", { class: "tabs", "aria-label": "Views of the run" });
  const shown = h("div", { class: "stack view", tabindex: -1 });
  const detail = detailView(store);
  const header = headerView(store);
  const decide = decideView(store);
  root.classList.add("run");
  root.append(header.element, decide.element, tabs, h("div", { class: "beside" }, shown, detail.element));

  const drawn = { view: null, query: null };
  store.watch(() => {
    const asked = store.query.get("view");
    const view = Object.hasOwn(parts, asked) ? asked : first;
    if (view !== drawn.view) fill(shown, ...parts[view].map((part) => part.element));
    if (view !== drawn.view || store.query !== drawn.query) drawTabs(view);
    Object.assign(drawn, { view, query: store.query });
    for (const part of [header, decide, detail, ...parts[view]]) part.draw();
    const { streaming, caughtUp, fold } = store;
    set(root, { data: { streaming: streaming ?? "connecting", caughtUp: String(caughtUp) } });
    set(root, { data: { seq: String(fold.lastSeq) } });
  });
  store.follow();
  return { title: beginning(run.objective, 60), follow: (next) => store.selected(next) };

  /** They keep what is selected. */
  function drawTabs(view) {
    keep(tabs, VIEWS, {
      key: ([name]) => name,
      make: ([, text]) => h("a", {}, text),
      change: (link, [name]) =>
        set(link, { href: here({ view: name }), "aria-current": name === view ? "page" : null }),
    });
  }
}
