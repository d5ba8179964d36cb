/** Fields of a form, each at the pointer of what it holds, so that what the service says about that stands there. */

import { fill, h, set } from "../dom.js";

let numbered = 0;

export class Fields {
  #places = new Map();

  /** A field at a pointer: its label, its control, and a hint. */
  field(pointer, label, control, hint = null) {
    const id = `field-${(numbered += 1)}`;
    const told = hint && h("p", { class: "hint", id: `${id}-hint` }, hint);
    set(control, { id, "aria-describedby": told && `${id}-hint` });
    const wrong = this.place(pointer, control);
    return h("div", { class: "field" }, h("label", { for: id }, label), control, wrong, told);
  }

  /** An element for errors at a pointer, and at all below it that have no place of their own. */
  place(pointer, control) {
    const wrong = h("p", { class: "wrong", id: `wrong-${(numbered += 1)}`, hidden: true });
    const told = control.getAttribute("aria-describedby");
    set(control, { "aria-describedby": told ? `${told} ${wrong.id}` : wrong.id });
    this.#places.set(pointer, { control, wrong });
    return wrong;
  }

  /** Forget the places below a pointer. */
  drop(pointer) {
    for (const each of [...this.#places.keys()]) if (each.startsWith(`${pointer}/`)) this.#places.delete(each);
  }

  /** Show these errors, and no others; gives those that belong to no field. */
  show(errors) {
    for (const { control, wrong } of this.#places.values()) {
      control.removeAttribute("aria-invalid");
      set(fill(wrong), { hidden: true });
    }
    const rest = [];
    let first = null;
    for (const error of errors) {
      const found = this.#placeOf(error.pointer);
      if (!found) {
        rest.push(error);
        continue;
      }
      const { control, wrong } = found;
      control.setAttribute("aria-invalid", "true");
      set(wrong, { hidden: false }).append(h("span", {}, error.detail, " "));
      const fold = control.closest("details");
      if (fold) fold.open = true;
      first ??= control;
    }
    first?.focus();
    return rest;
  }

  #placeOf(pointer) {
    for (let at = pointer ?? ""; at; at = at.slice(0, at.lastIndexOf("/"))) {
      if (this.#places.has(at)) return this.#places.get(at);
    }
    return null;
  }
}

/** A control for text that `holder[name]` holds; `changed()` is told of each change. */
export function typed(tag, holder, name, changed, props = {}) {
  const control = h(tag, { ...props, value: holder[name] ?? "" });
  control.addEventListener("input", () => {
    holder[name] = tag === "textarea" ? control.value : control.value.trim();
    changed();
  });
  return control;
}

/** A choice among `[value, text]`, which `holder[name]` holds. */
export function choice(options, holder, name, changed) {
  const control = h("select", {},
    options.map(([value, text]) => h("option", { value, selected: value === holder[name] }, text)));
  control.addEventListener("change", () => {
    holder[name] = control.value;
    changed();
  });
  return control;
}
