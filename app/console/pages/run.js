/** The page of a run: what it is, what is to be decided, and one of several views beside what is selected. */

import { get } from "../api.js";
import { fill, h, set } from "../dom.js";
import { hasEnded } from "../format.js";
import { answerView } from "../run/answer.js";
import { decideView } from "../run/decide.js";
import { detailView } from "../run/detail.js";
import { filesView } from "../run/files.js";
import { graphView } from "../run/graph.js";
import { headerView } from "../run/header.js";
import { lanesView } from "../run/lanes.js";
import { logView } from "../run/log.js";
import { RunStore } from "../run/store.js";

const VIEWS = [["work", "Work"], ["answer", "Answer"], ["log", "Log"], ["files", "Files"]];

export async function open({ root, params, query, signal, select }) {
  const run = await get(`/v1/runs/${encodeURIComponent(params.run)}`, { signal });
  const store = new RunStore(run, { query, signal, select });
  const first = hasEnded(run) && run.result ? "answer" : "work";
  const parts = { work: [graphView(store), lanesView(store)], answer: [answerView(store)], log: [logView(store)], files: [filesView(store)] };
  const tabs = h("nav", { class: "tabs", "aria-label": "Views of the run" });
  const shown = h("div", { class: "stack view" });
  const detail = detailView(store);
  const header = headerView(store);
  const decide = decideView(store);
  root.classList.add("run");
  root.append(header.element, decide.element, tabs, h("div", { class: "beside" }, shown, detail.element));

  let open = null;
  store.watch(() => {
    const view = parts[store.query.get("view")] ? store.query.get("view") : first;
    if (view !== open) {
      open = view;
      fill(shown, ...parts[view].map((part) => part.element));
      fill(tabs, ...VIEWS.map(([name, text]) => h("a", { href: address(name), "aria-current": name === view ? "page" : null }, text)));
    }
    for (const part of [header, decide, detail, ...parts[view]]) part.draw();
    set(root, { data: { streaming: store.streaming ?? "connecting", caughtUp: String(store.caughtUp), seq: String(store.fold.lastSeq) } });
  });
  store.follow();
  return { title: run.objective.slice(0, 60), follow: (next) => store.selected(next) };

  function address(view) {
    const changed = new URLSearchParams(store.query);
    changed.set("view", view);
    return `${location.pathname}?${changed}`;
  }
}
