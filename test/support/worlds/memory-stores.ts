/** The local stores of one machine, in memory. They are kept when the processes that opened them have ended. */

import {
  type OrderedStore,
  type StoreChange,
  type StoreEntry,
  StoreInUseError,
} from "../../../src/router/audience/store/ordered-store.ts";
import type { Stores } from "../../../src/router/audience/store/owned-store.ts";

export class MemoryStores implements Stores {
  readonly #stores = new Map<number, MemoryStore>();

  open(partition: number): Promise<OrderedStore> {
    const before = this.#stores.get(partition);
    if (before?.isOpen) return Promise.reject(new StoreInUseError("open elsewhere"));
    const store = before?.reopen() ?? new MemoryStore();
    this.#stores.set(partition, store);
    return Promise.resolve(store);
  }

  remove(partition: number): Promise<void> {
    this.#stores.delete(partition);
    return Promise.resolve();
  }

  /** The store of a partition, whether it is open or closed. */
  store(partition: number): MemoryStore {
    const store = this.#stores.get(partition);
    if (store === undefined) throw new Error(`there is no store of partition ${partition}`);
    return store;
  }

  /** Replaces the partition's store. */
  put(partition: number, store: MemoryStore): void {
    this.#stores.set(partition, store);
  }

  /** Replaces all existing stores. No process may be running. */
  async change(other: (store: MemoryStore) => Promise<MemoryStore>): Promise<void> {
    for (const [partition, store] of this.#stores) {
      const changed = await other(store);
      await changed.close();
      this.#stores.set(partition, changed);
    }
  }

  /** Call when the processes that had stores open have ended. */
  release(): void {
    for (const [partition, store] of this.#stores) this.#stores.set(partition, store.reopen());
    for (const store of this.#stores.values()) void store.close();
  }
}

/** Low, so that tests get more than one piece. */
const PIECE_ENTRIES = 4;

/** An ordered store in memory, with the same order and the same guarantees as on disk. */
export class MemoryStore implements OrderedStore {
  readonly #values = new Map<string, string>();
  #isClosed = false;

  get size(): number {
    return this.#values.size;
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** All entries, in order, even if the store is closed. */
  entries(): readonly StoreEntry[] {
    return [...this.#values].sort(([one], [other]) => byBytes(one, other));
  }

  async getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    this.#check();
    return keys.map((key) => this.#values.get(key));
  }

  async *pieces(from: string, to: string): AsyncGenerator<readonly StoreEntry[]> {
    this.#check();
    const isWithin = ([key]: StoreEntry) => byBytes(key, from) >= 0 && byBytes(key, to) < 0;
    const entries = [...this.#values]
      .filter(isWithin)
      .sort(([one], [other]) => byBytes(one, other));
    for (let at = 0; at < entries.length; at += PIECE_ENTRIES) {
      this.#check();
      yield entries.slice(at, at + PIECE_ENTRIES);
    }
  }

  async write(changes: readonly StoreChange[]): Promise<void> {
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
