/** The store of a partition while this process owns it: opened when nobody else has it, closed once. */

import { join } from "node:path";

import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { openLevelStore, removeStore } from "./level-store.ts";
import { type OrderedStore, StoreInUseError } from "./ordered-store.ts";

const IN_USE_WAIT_MS = 500;

/** A store for each partition. */
export interface Stores {
  /** Throws `StoreInUseError` while another process has it open. */
  open(partition: number): Promise<OrderedStore>;
  /** Removes one that is not open. */
  remove(partition: number): Promise<void>;
}

/** On disk, in a directory of each partition's own below `directory`. */
export function levelStores(directory: string): Stores {
  const place = (partition: number) => join(directory, `${partition}`);
  return {
    open: (partition) => openLevelStore(place(partition)),
    remove: (partition) => removeStore(place(partition)),
  };
}

export interface OwnedStore {
  /** Waits while the store is open elsewhere. `check` throws when that is of no use any more. */
  readonly open: (check: () => void) => Promise<OrderedStore>;
  readonly remove: () => Promise<void>;
  /** Leaves nothing on disk of the values that these keys had. */
  readonly compact: (keys: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface OwnedStoreDeps {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly log: Log;
}

/** @param before resolves when this process has closed the store that it had open before. */
export function ownStore(
  { stores, clock, log }: OwnedStoreDeps,
  partition: number,
  before: Promise<void>,
  signal: AbortSignal,
): OwnedStore {
  let store: OrderedStore | null = null;
  return {
    open: async (check) => {
      await before;
      for (let isSaid = false; ; isSaid = true) {
        check();
        try {
          store = await stores.open(partition);
          return store;
        } catch (error) {
          if (!(error instanceof StoreInUseError)) throw error;
          if (!isSaid) log.warn({ partition, error: error.message }, "audience.store.in-use");
          await clock.sleep(IN_USE_WAIT_MS, signal);
        }
      }
    },
    remove: () => stores.remove(partition),
    compact: async (keys) => {
      for (const key of keys) await store?.compact(key, `${key}\u0000`);
    },
    close: async () => {
      const open = store;
      store = null;
      await open?.close();
    },
  };
}
