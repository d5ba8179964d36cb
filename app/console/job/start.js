/** Sending a job, or asking for its quote: once for each intention, however often the request has to be sent. */

import { idempotencyKey, send } from "../api.js";
import { bodyOf } from "./request.js";

/** What somebody wants to have done with a draft: the same draft is the same intention until it has been answered. */
export class Intention {
  /** What is to be kept with the draft, so that a reload does not make it another intention. */
  kept;

  constructor(kept = null) {
    this.kept = kept;
  }

  /** Post the draft; `more` is what the job has beside it. Throws `Unsendable`, `Problem`, `Unreachable`. */
  async post(path, draft, { more = {}, signal, limit, keep = () => {} } = {}) {
    const body = bodyOf(draft, more);
    const of = digest(JSON.stringify([draft, more], (_, each) => (each instanceof Uint8Array ? digest(each) : each)));
    if (this.kept?.of !== of) this.kept = { of, key: idempotencyKey() };
    keep();
    const headers = { "Idempotency-Key": this.kept.key };
    const response = await send(path, { method: "POST", body, headers, signal, limit });
    this.kept = null;
    return response.json();
  }
}

/** A number that tells one text, or one file, from another. */
function digest(content) {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let place = 0; place < content.length; place += 1) {
    const unit = typeof content === "string" ? content.charCodeAt(place) : content[place];
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  return `${content.length}-${(high >>> 0).toString(36)}${(low >>> 0).toString(36)}`;
}
