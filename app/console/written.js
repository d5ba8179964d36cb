/** What somebody has written and not sent yet: the tab keeps it through errors, other pages and reloads. */

const PLACE = "chargehand.written.";
/** What was read or written since the page was loaded. */
const known = new Map();

/** What is kept under a name, such as `answer/q_1`. */
export class Written {
  #place;

  constructor(name) {
    this.#place = PLACE + name;
  }

  /** What was written; null for nothing. */
  read() {
    if (!known.has(this.#place)) known.set(this.#place, stored(this.#place));
    return known.get(this.#place);
  }

  write(value) {
    known.set(this.#place, value);
    try {
      sessionStorage.setItem(this.#place, JSON.stringify(value));
    } catch {
      // There is a bound to what a tab keeps: what goes beyond it lasts as long as the page does.
    }
  }

  forget() {
    known.set(this.#place, null);
    try {
      sessionStorage.removeItem(this.#place);
    } catch {
      // Nothing was kept.
    }
  }
}

/** Have the fields of a form begin with what was written in them, and keep what is. */
export function keepFields(form, written) {
  const before = written.read();
  const fields = [...form.elements].filter(({ name }) => name);
  for (const field of fields) if (before?.[field.name]) restore(field, before[field.name]);
  form.addEventListener("input", () => {
    const given = new FormData(form);
    written.write(Object.fromEntries(fields.map(({ name }) => [name, given.getAll(name)])));
  });
}

function restore(field, values) {
  if (field.type === "checkbox" || field.type === "radio") field.checked = values.includes(field.value);
  else field.value = values[0] ?? "";
}

function stored(place) {
  try {
    return JSON.parse(sessionStorage.getItem(place));
  } catch {
    return null;
  }
}
