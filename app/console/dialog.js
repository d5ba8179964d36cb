/** Asking somebody something before it is done. */

import { h } from "./dom.js";
import { keepFields } from "./written.js";

let made = 0;

/**
 * A dialog with a form: resolves to its `FormData`, or null when it was left. `body` are elements with named fields;
 * `action` is what the button says that does it, `leave` what the other one says; `written` keeps what is in the fields
 * until it is told to forget it.
 */
export function ask(title, body, { action, leave = "Not now", danger = false, written = null }) {
  return new Promise((resolve) => {
    const id = `dialog-${++made}`;
    let given = null;
    const form = h("form", { method: "dialog", on: { submit: () => (given = new FormData(form)) } },
      h("h2", { id }, title), body,
      h("div", { class: "actions" }, h("button", { class: danger ? "danger" : "main" }, action),
        h("button", { type: "button", on: { click: () => dialog.close() } }, leave)));
    const dialog = h("dialog", { "aria-labelledby": id, on: { close } }, form);
    if (written) keepFields(form, written);
    document.body.append(dialog);
    dialog.showModal();

    function close() {
      dialog.remove();
      resolve(given);
    }
  });
}

/** A labelled field of a form; `control` has the id. */
export function field(label, control, hint = null) {
  const told = hint ? h("span", { class: "hint", id: `${control.id}-hint` }, hint) : null;
  if (told) control.setAttribute("aria-describedby", told.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, told);
}
