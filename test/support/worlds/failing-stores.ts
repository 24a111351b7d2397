/** Local stores in memory that fail on request: a full disk, a corrupt file. */

import type { OrderedStore } from "../../../src/audience/store/ordered-store.ts";
import { MemoryStores } from "./memory-stores.ts";

export type StoreWork = "open" | "remove" | "getMany" | "pieces" | "write" | "close";

export class FailingStores extends MemoryStores {
  /** Returns the error for an operation; null if the operation succeeds. */
  failing: (work: StoreWork) => Error | null = () => null;
  /** Operations that were started, including failed ones. */
  readonly works: StoreWork[] = [];

  override async open(partition: number): Promise<OrderedStore> {
    this.#begin("open");
    const store = await super.open(partition);
    const begin = (work: StoreWork) => this.#begin(work);
    return {
      getMany: async (keys) => {
        begin("getMany");
        return store.getMany(keys);
      },
      pieces: async function* (from, to) {
        begin("pieces");
        yield* store.pieces(from, to);
      },
      write: async (changes) => {
        begin("write");
        await store.write(changes);
      },
      compact: (from, to) => store.compact(from, to),
      close: async () => {
        await store.close();
        begin("close");
      },
    };
  }

  override async remove(partition: number): Promise<void> {
    this.#begin("remove");
    await super.remove(partition);
  }

  #begin(work: StoreWork): void {
    this.works.push(work);
    const error = this.failing(work);
    if (error !== null) throw error;
  }
}
