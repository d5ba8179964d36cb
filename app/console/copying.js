/** Copying text; where nothing may be copied by itself, it is shown so that people can. */

import { announce, h } from "./dom.js";

/** Put a text into the clipboard, and say `done`; `title` is what it is. */
export async function copy(text, title, done = "Copied.") {
  try {
    await navigator.clipboard.writeText(text);
    announce(done);
  } catch {
    show(text, title);
  }
}

function show(text, title) {
  const dialog = h("dialog", { "aria-label": title, on: { close: () => dialog.remove() } },
    h("form", { method: "dialog" }, h("pre", { tabindex: 0 }, text),
      h("div", { class: "actions" }, h("button", {}, "Close"))));
  document.body.append(dialog);
  dialog.showModal();
}
