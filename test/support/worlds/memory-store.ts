/** An ordered store in memory, for tests: the same order and the same promises as on disk. */

import type { Change, Entry, OrderedStore } from "../../../src/store/ordered-store.ts";

/** Few, so that tests see more than one piece. */
const PIECE_ENTRIES = 4;

export class MemoryStore implements OrderedStore {
  readonly #values = new Map<string, string>();
  #isClosed = false;

  get size(): number {
    return this.#values.size;
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** All entries, in order, also of a store that is closed. */
  entries(): readonly Entry[] {
    return [...this.#values].sort(([one], [other]) => byBytes(one, other));
  }

  async getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    this.#check();
    return keys.map((key) => this.#values.get(key));
  }

  async *pieces(from: string, to: string): AsyncGenerator<readonly Entry[]> {
    this.#check();
    const isWithin = ([key]: Entry) => byBytes(key, from) >= 0 && byBytes(key, to) < 0;
    const entries = [...this.#values]
      .filter(isWithin)
      .sort(([one], [other]) => byBytes(one, other));
    for (let at = 0; at < entries.length; at += PIECE_ENTRIES) {
      this.#check();
      yield entries.slice(at, at + PIECE_ENTRIES);
    }
  }

  async write(changes: readonly Change[]): Promise<void> {
    this.#check();
    for (const [key, value] of changes) {
      if (value === null) this.#values.delete(key);
      else this.#values.set(key, value);
    }
  }

  async compact(): Promise<void> {
    this.#check();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** The entries that a process finds when it opens the store again. */
  reopen(): MemoryStore {
    const store = new MemoryStore();
    for (const [key, value] of this.#values) store.#values.set(key, value);
    return store;
  }

  #check(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
