/**
 * An unordered set of items in flight. For a `Set`, V8 allocates a new table each time the set is emptied, which costs
 * about 40 bytes per entry, and all tables of a long-lived set are in the old generation. The tables are freed only
 * when the whole heap is collected, and until then, all objects to which they refer stay in memory
 * (docs/decisions/0007-garbage-collection.md).
 */

/**
 * An item is created with `place: -1`; the set stores the item's index in `place`. An item can be in only one set at a
 * time.
 */
export interface InFlightItem {
  place: number;
}

export class InFlightSet<Item extends InFlightItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Does nothing if the item is already in the set. */
  add(item: Item): void {
    if (item.place !== -1) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Does nothing if the item is not in the set. */
  delete(item: Item): void {
    const { place } = item;
    if (place === -1) return;
    item.place = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[place] = last;
    last.place = place;
  }

  /** Returns a copy, because items may be added and removed while the caller iterates. */
  all(): readonly Item[] {
    return this.#items.slice();
  }
}

/** Counts the work in flight, and reports when there is none. */
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

  /** Resolves when no work is in flight. */
  ended(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
