/** A job that somebody is writing. It outlives errors and reloads: the tab keeps it, under the address of its form. */

const PLACE = "chargehand.job";
const SAVED_AFTER_MS = 250;
const PIECE = 8192;

/** A job with nothing in it. `inputs` have a `name`, and either `text` or `bytes`; `team` may be `name@version`. */
export function emptyDraft() {
  return {
    objective: "", team: "", inputs: [], limits: {}, approval: "", on_question: "", strategy: "", planning: "",
    output_schema: "", rubric: "", metadata: [], priority: "", webhook: { url: "", secret: "" }, plan: "",
  };
}

/** Keeps a draft for as long as the tab, under a name. */
export class Keeper {
  #place;
  #timer = null;

  constructor(name) {
    this.#place = `${PLACE}${name}`;
  }

  /** What was kept; null for nothing. */
  kept() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.#place));
      return kept && { ...kept, draft: { ...emptyDraft(), ...kept.draft, inputs: kept.draft.inputs.map(unpacked) } };
    } catch {
      return null;
    }
  }

  /** Keep this soon, once for many changes. */
  soon(kept) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.now(kept), SAVED_AFTER_MS);
  }

  now(kept) {
    clearTimeout(this.#timer);
    const draft = { ...kept.draft, webhook: { ...kept.draft.webhook, secret: "" } }; // A secret is kept nowhere.
    for (const inputs of [draft.inputs.map(packed), draft.inputs.map(({ name }) => ({ name, lost: true }))]) {
      try {
        sessionStorage.setItem(this.#place, JSON.stringify({ ...kept, draft: { ...draft, inputs } }));
        return;
      } catch {
        // There is a bound to what a tab keeps: files that go beyond it have to be given again.
      }
    }
  }

  forget() {
    clearTimeout(this.#timer);
    try {
      sessionStorage.removeItem(this.#place);
    } catch {
      // Nothing was kept.
    }
  }
}

function packed({ bytes, ...input }) {
  return bytes ? { ...input, base64: toBase64(bytes) } : input;
}

function unpacked({ base64, ...input }) {
  if (base64 === undefined) return input;
  return { ...input, bytes: Uint8Array.from(atob(base64), (each) => each.charCodeAt(0)) };
}

function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}
