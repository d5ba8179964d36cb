/** What the parts of a run's page share: the run as the API has it, what its events tell, and what is selected. */

import { get, isRefusal, key, onKey } from "../api.js";
import { hasEnded } from "../format.js";
import { atMostEvery, oncePerFrame } from "../frames.js";
import { follow } from "../stream.js";
import { RunFold } from "./fold.js";

const LOOK_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;

export class RunStore {
  /** The Run as the API has it. */
  run;
  /** What its events tell so far. */
  fold = new RunFold();
  /** What the stream does: `live`, `away`, `ended`, `refused`; null before it has begun. */
  streaming = null;
  /** Why the stream, or the run itself, is refused; null when neither is. */
  refusal = null;
  /** Whether every event that there was when the page opened has been read. */
  caughtUp = false;
  /** What is selected, as the address says it. */
  query;

  #signal;
  #listeners = new Set();
  #select;
  #pause = LOOK_MS;
  #later = null;

  constructor(run, { query, signal, select }) {
    Object.assign(this, { run, query });
    this.#signal = signal;
    this.#select = select;
    this.changed = oncePerFrame(() => signal.aborted || this.#listeners.forEach((listener) => listener()));
    this.look = atMostEvery(LOOK_MS, () => this.#look());
    signal.addEventListener("abort", () => {
      this.look.stop();
      clearTimeout(this.#later);
    });
    onKey(() => key() && this.refusal && this.again(), signal);
  }

  /** Ends with the page. */
  get signal() {
    return this.#signal;
  }

  get id() {
    return this.run.id;
  }

  /** The run as the newest of the two tells it: the API is asked once a second, events come at once. */
  get now() {
    const { run, fold } = this;
    if (fold.lastSeq <= run.last_seq || fold.status === null || fold.status === run.status) return run;
    const waiting = fold.status === "waiting" ? fold.waits.at(-1).reason : null;
    return { ...run, status: fold.status, phase: null, waiting_for: waiting };
  }

  /** Have `draw` called once a frame whenever something has changed, and now. */
  watch(draw) {
    this.#listeners.add(draw);
    draw();
  }

  /** Select something, or with nulls nothing, on this page: `{ task: "t1", attempt: 2, event: 12, view: "log" }`. */
  select(changes, options) {
    this.#select(changes, options);
  }

  /** The address says that something else is selected. */
  selected(query) {
    this.query = query;
    this.changed();
  }

  /** Read all events, those that have been read left out, and go on until the run has ended. */
  async follow() {
    const known = this.run.last_seq;
    await follow(this.id, {
      after: this.fold.lastSeq,
      signal: this.#signal,
      onEvents: (events) => {
        this.fold.apply(events);
        this.caughtUp ||= this.fold.lastSeq >= known;
        if (this.caughtUp) this.look();
        this.changed();
      },
      onDeltas: (deltas) => {
        this.fold.applyDeltas(deltas);
        this.changed();
      },
      onState: (state, problem = null) => {
        this.streaming = state;
        if (state === "refused") this.refusal = problem;
        if (state === "ended") this.caughtUp = true;
        this.changed();
      },
    });
    this.look();
  }

  /** After a refusal: ask once more, for the run and for its events behind the last one that was read. */
  again() {
    const wasRefused = this.streaming === "refused";
    this.refusal = null;
    if (wasRefused) {
      this.streaming = null;
      this.follow();
    }
    this.look();
    this.changed();
  }

  /** Take a newer Run in, as a request that changed it has answered. */
  take(run) {
    if (run.last_seq >= this.run.last_seq) this.run = run;
    this.changed();
  }

  /** Look at the run; where that fails, or the events tell of an end that it does not have yet, once more later. */
  async #look() {
    if (hasEnded(this.run) || this.#signal.aborted) return;
    clearTimeout(this.#later);
    try {
      const run = await get(`/v1/runs/${this.id}`, { signal: this.#signal });
      this.#pause = LOOK_MS;
      if (this.streaming !== "refused") this.refusal = null;
      this.take(run);
      if (this.streaming !== "ended" || hasEnded(run)) return;
    } catch (error) {
      if (this.#signal.aborted) return;
      if (isRefusal(error)) {
        this.refusal = error;
        this.changed();
        return;
      }
    }
    // Meanwhile it is the stream that tells of a service that is away.
    this.#later = setTimeout(() => this.look(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
  }
}
