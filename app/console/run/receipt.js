/** What a cancellation has stopped, and what was still spent. */

import { fill, h } from "../dom.js";
import { moment, money, plural, SIGNS } from "../format.js";

export function receiptView(store) {
  const element = h("div", { class: "receipt" });
  let drawn = null;
  return { element, draw };

  function draw() {
    const { cancellation } = store.run;
    if (cancellation === drawn || JSON.stringify(cancellation) === JSON.stringify(drawn)) return;
    drawn = cancellation;
    fill(element, cancellation && (cancellation.completed_at ? receipt(cancellation) : asked(cancellation)));
  }
}

function asked({ requested_at: at, reason }) {
  return h("p", { class: "notice" }, `Asked to stop at ${moment(at)}${reason ? `: ${reason}` : "."}`);
}

function receipt({ requested_at: at, completed_at: stopped, reason, tasks, children, cost_usd_after_request: after }) {
  const open = tasks.filter(({ stopped_at: each }) => each !== null);
  return h("details", { class: "notice" },
    h("summary", {}, `Cancelled at ${moment(at)}${reason ? `: ${reason}` : "."}`),
    h("p", {}, `All had stopped at ${moment(stopped)}. After the request ${money(after)} was still spent. `,
      open.length ? `${plural(open.length, "task")} had not ended:` : "Every task had ended before."),
    h("ul", {}, open.map(({ task, status }) => h("li", { data: { state: status } },
      h("span", { class: "state" }, SIGNS[status], " ", status), ` ${task}`))),
    children.length > 0 && h("p", {}, "Nested runs: ", children.map(({ run, status }) =>
      [h("a", { href: `/console/runs/${run}` }, run), ` ${status ?? "being stopped"} `])));
}
