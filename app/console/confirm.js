/** Asking before something is done that is not taken back lightly. */

import { h } from "./dom.js";

/** Whether the person says yes. `content` is what is at stake, `button` the words of the yes. */
export function confirmed(title, content, button) {
  return new Promise((resolve) => {
    let yes = false;
    const agree = () => {
      yes = true;
    };
    const dialog = h("dialog", { "aria-labelledby": "confirm-title" }, h("form", { method: "dialog" },
      h("h2", { id: "confirm-title" }, title), content,
      h("div", { class: "actions" },
        h("button", { class: "main", on: { click: agree } }, button), h("button", {}, "No"))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(yes);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
