/** An ordered store in memory, for tests: the same order and the same promises as on disk. */

import type { Change, Entry, OrderedStore } from "./ordered-store.ts";

export class MemoryStore implements OrderedStore {
  readonly #values = new Map<string, string>();
  /** Sorted keys; null after keys have come or gone. */
  #sorted: string[] | null = [];
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

  async range(from: string, to: string, limit: number): Promise<readonly Entry[]> {
    this.#check();
    this.#sorted ??= [...this.#values.keys()].sort(byBytes);
    const entries: Entry[] = [];
    for (let at = this.#indexOf(this.#sorted, from); at < this.#sorted.length; at += 1) {
      const key = this.#sorted[at];
      if (key === undefined || entries.length === limit || byBytes(key, to) >= 0) break;
      entries.push([key, this.#values.get(key) ?? ""]);
    }
    return entries;
  }

  async write(changes: readonly Change[]): Promise<void> {
    this.#check();
    for (const [key, value] of changes) {
      if (this.#values.has(key) !== (value !== null)) this.#sorted = null;
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

  /** What a process that opens the store again finds. */
  reopen(): MemoryStore {
    const store = new MemoryStore();
    for (const [key, value] of this.#values) store.#values.set(key, value);
    store.#sorted = null;
    return store;
  }

  #indexOf(sorted: readonly string[], key: string): number {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (byBytes(sorted[middle] ?? "", key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #check(): void {
    if (this.#isClosed) throw new Error("the store is closed");
  }
}

function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
