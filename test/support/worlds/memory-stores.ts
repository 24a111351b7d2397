/** The local stores of one machine, in memory: they outlive the processes that open them. */

import { type OrderedStore, StoreInUseError } from "../../../src/store/ordered-store.ts";
import type { Stores } from "../../../src/store/owned-store.ts";
import { MemoryStore } from "./memory-store.ts";

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

  /** What is in the store, open or not. */
  store(partition: number): MemoryStore {
    const store = this.#stores.get(partition);
    if (store === undefined) throw new Error(`there is no store of partition ${partition}`);
    return store;
  }

  /** Puts another store in the place of the partition's own. */
  put(partition: number, store: MemoryStore): void {
    this.#stores.set(partition, store);
  }

  /** Puts others in the place of all stores that there are. No process may run. */
  async change(other: (store: MemoryStore) => Promise<MemoryStore>): Promise<void> {
    for (const [partition, store] of this.#stores) {
      const changed = await other(store);
      await changed.close();
      this.#stores.set(partition, changed);
    }
  }

  /** The processes that had stores open are gone. */
  release(): void {
    for (const [partition, store] of this.#stores) this.#stores.set(partition, store.reopen());
    for (const store of this.#stores.values()) void store.close();
  }
}
