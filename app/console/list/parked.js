/**
 * What a live list shows while somebody reads it: rows bring themselves up to date, but none comes, goes or moves until
 * the reader says so. With nobody at it the list is as the service has it.
 */
export class ParkedList {
  /** The runs that are shown, in their order. */
  shown = [];
  /** Ids of those shown that no longer belong to the list. */
  left = new Set();
  #newest = [];

  /** Take a newer list in; `isRead` says whether somebody is reading. */
  take(runs, isRead) {
    this.#newest = runs;
    if (!isRead || !this.shown.length || this.isCurrent) this.release();
    else {
      const known = new Map(runs.map((run) => [run.id, run]));
      this.left = new Set(this.shown.filter((run) => !known.has(run.id) && !this.#isBelow(run)).map((run) => run.id));
      this.shown = this.shown.map((run) => known.get(run.id) ?? run);
    }
  }

  /** Show the list as it is. */
  release() {
    this.shown = this.#newest;
    this.left = new Set();
  }

  /** Whether what is shown is the list as it is. */
  get isCurrent() {
    const ids = this.#newest.map((run) => run.id);
    return ids.length === this.shown.length && this.shown.every((run, place) => run.id === ids[place]);
  }

  /** How many runs there are that are not shown yet. */
  get waiting() {
    const ids = new Set(this.shown.map((run) => run.id));
    return this.#newest.filter((run) => !ids.has(run.id)).length;
  }

  /** A run at the end of a full page is pushed to the next one by those that come: it still belongs to the list. */
  #isBelow(run) {
    const place = this.shown.indexOf(run);
    return place >= this.shown.length - this.waiting;
  }
}
