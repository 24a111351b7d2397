/**
 * Things that are under way, in no order. A `Set` would do the same, but V8 gives it a new table
 * whenever it has emptied. All tables of a set that has lived for a while lie in the old
 * generation. That is some 40 bytes for each thing that comes and goes. They are freed only when
 * the whole heap is collected. Until then everything that they point to lives on
 * (docs/decisions/0007-garbage-collection.md).
 */

/** Made with `place: -1`; the bag keeps there where it is. In one bag at a time. */
export interface InFlightItem {
  place: number;
}

export class InFlightSet<Item extends InFlightItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Does nothing when it is there already. */
  add(item: Item): void {
    if (item.place !== -1) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Does nothing when it is not there. */
  delete(item: Item): void {
    const { place } = item;
    if (place === -1) return;
    item.place = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[place] = last;
    last.place = place;
  }

  /** A copy: items may come and go while it is walked through. */
  all(): readonly Item[] {
    return this.#items.slice();
  }
}

/** Counts what is in flight, for those who wait until nothing is. */
export class InFlightCount {
  #count = 0;
  #onIdle: (() => void)[] = [];

  /** @param work must not reject. */
  add(work: Promise<void>): void {
    this.#count += 1;
    void work.then(() => {
      this.#count -= 1;
      if (this.#count === 0) for (const then of this.#onIdle.splice(0)) then();
    });
  }

  /** Resolves when nothing is in flight. */
  ended(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
