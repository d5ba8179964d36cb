/** Fields of forms that say what is wrong with them. */

import { h, say, set, unseenIn } from "../dom.js";

/** A field: `{element, control, set(value), wrong(text)}`; `onInput(value)` gets what is written. */
export function textField(label, { id, rows = null, hint = null, ...rest }, onInput) {
  const control = rows ? h("textarea", { id, rows, dir: "auto", ...rest }) : h("input", { id, ...rest });
  const field = withWords(label, control, hint);
  const warning = h("span", { class: "warning", id: `${id}-unseen`, hidden: true });
  field.element.append(warning);
  control.addEventListener("input", () => {
    warn();
    onInput(control.value);
  });
  return { ...field, set: (value) => (field.set(value), warn()) };

  /** Name what is written there and is not seen: it is handed on all the same. */
  function warn() {
    const unseen = unseenIn(control.value);
    say(warning, `It has characters that are not seen, and that are handed on: ${unseen.join(", ")}.`);
    set(warning, { hidden: !unseen.length });
    const told = [hint && `${id}-hint`, unseen.length && warning.id].filter(Boolean).join(" ");
    set(control, { "aria-describedby": told || null });
  }
}

export function choiceField(label, { id, hint = null }, onChange) {
  const control = h("select", { id, on: { change: () => onChange(control.value) } });
  return withWords(label, control, hint);
}

function withWords(label, control, hint) {
  const mistake = h("span", { class: "wrong", id: `${control.id}-wrong`, hidden: true });
  const told = hint && h("span", { class: "hint", id: `${control.id}-hint` }, hint);
  const element = h("div", { class: "field" }, h("label", { for: control.id }, label), control, told, mistake);
  if (told) set(control, { "aria-describedby": told.id });
  return {
    element,
    control,
    set: (value) => (control.value = value ?? ""),
    wrong(text) {
      say(mistake, text);
      set(mistake, { hidden: !text });
      set(control, { "aria-invalid": text ? "true" : null, "aria-errormessage": text ? mistake.id : null });
    },
  };
}
