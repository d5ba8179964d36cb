/**
 * The detail of what is selected, beside the other views; where there is no room beside them, over the page. Without a
 * selection it tells of the run as a whole.
 */

import { h, say, set } from "../dom.js";
import { attemptDetail } from "./detail/attempt.js";
import { callDetail } from "./detail/call.js";
import { eventDetail } from "./detail/event.js";
import { overview } from "./detail/overview.js";
import { at, drawSections } from "./detail/parts.js";
import { taskDetail } from "./detail/task.js";
import { toolDetail } from "./detail/tool.js";
import { here } from "../router.js";

const NARROW = "(max-width: 1000px)";

export function detailView(store) {
  const kind = h("p", { class: "kind quiet small" });
  const title = h("h2", { tabindex: -1 });
  const before = h("a", { class: "button" }, "‹");
  const after = h("a", { class: "button" }, "›");
  const close = h("button", { type: "button", class: "plain", "aria-label": "Close the detail", on: { click: leave } },
    "✕",
  );
  const parts = h("div", { class: "parts" });
  const content = h("div", { class: "detail-content" },
    h("header", {},
      h("div", { class: "detail-title" }, kind, title),
      h("nav", { "aria-label": "Before and after" }, before, after),
      close,
    ),
    parts,
  );
  const element = h("aside", { class: "panel detail", "aria-label": "Detail" }, content);
  const dialog = h("dialog", {
    class: "detail-over",
    "aria-label": "Detail",
    on: {
      cancel: (event) => {
        event.preventDefault();
        leave();
      },
    },
  });
  const narrow = matchMedia(NARROW);
  let shown = null;
  let opener = null;
  let isLeft = false;
  narrow.addEventListener("change", place, { signal: store.signal });
  document.addEventListener("keydown", escape, { signal: store.signal });
  return { element, draw };

  function draw() {
    const { key, detail } = subject(store);
    if (key !== shown) turnTo(key);
    say(kind, detail.kind ?? "");
    say(title, detail.title);
    drawAround(detail.around ?? null);
    set(kind, { hidden: !detail.kind });
    set(close, { hidden: key === "run" });
    set(element, { data: { of: key === "run" ? "run" : "selection" } });
    drawSections(parts, key, detail.sections);
    place();
    if (isLeft && key === "run") goBack();
  }

  /** Something else is selected: it begins at its top, and whoever closes it is back where it was opened. */
  function turnTo(key) {
    const nothing = shown === null || shown === "run";
    if (nothing && key !== "run") opener = document.activeElement;
    shown = key;
    (dialog.open ? dialog : element).scrollTop = 0;
  }

  function drawAround(around) {
    for (const [link, name, to] of [
      [before, "Previous", around?.before],
      [after, "Next", around?.after],
    ]) {
      set(link, {
        hidden: !around,
        href: to ? here(to) : null,
        "aria-label": around && `${name} ${around.noun}`,
        "aria-disabled": to ? null : "true",
      });
    }
  }

  /** Beside the views where there is room; else over them while something is selected. */
  function place() {
    const over = narrow.matches && shown !== "run" && store.caughtUp;
    if (over && !dialog.open) {
      dialog.append(content);
      element.append(dialog);
      dialog.showModal();
      title.focus();
    } else if (!over && dialog.open) {
      dialog.close();
      element.append(content);
      dialog.remove();
    }
  }

  function escape(event) {
    const typed = event.target.closest?.("input, textarea, select, dialog");
    if (event.key === "Escape" && !event.defaultPrevented && !typed && shown !== "run") leave();
  }

  function leave() {
    isLeft = true;
    store.select(at({}));
  }

  /** Whoever has left goes on at what opened it; where that is gone, at the view beside it. */
  function goBack() {
    isLeft = false;
    const view = element.parentElement.querySelector(".view");
    const isThere = opener?.isConnected && opener !== document.body && opener.checkVisibility();
    (isThere ? opener : view).focus({ preventScroll: !isThere });
    opener = null;
  }
}

/** What is selected, by the address: `{key, detail}`. What does not exist (yet) is as if nothing were selected. */
function subject(store) {
  const { fold, query } = store;
  const number = (name) => Number(query.get(name)) || null;
  const event = fold.events[number("event") - 1];
  if (event) return { key: `event ${event.seq}`, detail: eventDetail(store, event) };
  const call = number("call") && fold.calls.find((each) => each.seq === number("call"));
  if (call) return { key: `call ${call.seq}`, detail: callDetail(store, call) };
  const tool = number("tool") && fold.tools.find((each) => each.seq === number("tool"));
  if (tool) return { key: `tool ${tool.seq}`, detail: toolDetail(store, tool) };
  const task = fold.tasks.get(query.get("task"));
  const attempt = task?.attempts[number("attempt") - 1];
  if (attempt) return { key: `attempt ${task.id} ${attempt.number}`, detail: attemptDetail(store, task, attempt) };
  if (task) return { key: `task ${task.id}`, detail: taskDetail(store, task) };
  return { key: "run", detail: overview(store) };
}
