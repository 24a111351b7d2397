/**
 * Manages the store of a partition while this process owns the partition. The store is opened as soon as no other
 * process has it open, and is closed only once.
 */

import { join } from "node:path";
import type { Clock } from "../../../base/runtime/clock.ts";
import type { Log } from "../../../base/telemetry/log.ts";
import { type StoreError, storeErrorOf } from "../../../domain/store-error.ts";
import { openLevelStore, removeStore } from "./level-store.ts";
import { type OrderedStore, StoreInUseError } from "./ordered-store.ts";

const IN_USE_WAIT_MS = 500;
const COMPACT_EVERY_MS = 3_600_000;
/**
 * All keys start with an ASCII letter, so this range covers the whole store. Compacting with these two keys does not
 * write a user's key to LevelDB's log.
 */
const ALL = ["\u0001", "\u007f"] as const;

export interface Stores {
  /** Throws `StoreInUseError` while another process has the store open. */
  open(partition: number): Promise<OrderedStore>;
  /** Removes a closed store. */
  remove(partition: number): Promise<void>;
}

/** Stores on disk, each in a separate directory below `directory`. */
export function levelStores(directory: string): Stores {
  const place = (partition: number) => join(directory, `${partition}`);
  return {
    open: (partition) => openLevelStore(place(partition)),
    remove: (partition) => removeStore(place(partition)),
  };
}

export interface OwnedStore {
  /** Opens the store. Waits while another process has it open, until `check` throws. */
  readonly open: (check: () => void) => Promise<OrderedStore>;
  readonly remove: () => Promise<void>;
  /** Call after removing values that must also be erased from the disk. */
  readonly erased: () => void;
  /** Rewrites the store, at most once an hour, because the cost is proportional to the store's size. */
  readonly compactWhenDue: () => void;
  readonly close: () => Promise<void>;
}

export interface OwnedStoreDeps {
  readonly stores: Stores;
  readonly clock: Clock;
  readonly log: Log;
}

export interface FormerStore {
  /** Resolves when this process has closed the previous store of the partition. */
  readonly closed: Promise<void>;
  /**
   * The error if the store was corrupt when it was used last, and must be removed before it is opened again;
   * otherwise null.
   */
  readonly corruption: StoreError | null;
}

export function ownStore(
  { stores, clock, log }: OwnedStoreDeps,
  partition: number,
  former: FormerStore,
  signal: AbortSignal,
): OwnedStore {
  let { corruption } = former;
  let store: OrderedStore | null = null;
  let isDue = false;
  let compactedAtMs = Number.NEGATIVE_INFINITY;
  let compacting: Promise<void> = Promise.resolve();
  const compactWhenDue = () => {
    if (!isDue || store === null || clock.nowMs() - compactedAtMs < COMPACT_EVERY_MS) return;
    isDue = false;
    compactedAtMs = clock.nowMs();
    compacting = store.compact(...ALL).catch((error: unknown) => {
      isDue = true;
      const fields = { stage: "audience", partition, error: String(error) };
      log.warn(fields, "audience.store.compaction-failed");
    });
  };
  return {
    open: async (check) => {
      await former.closed;
      if (corruption !== null) throw corruption;
      for (let isReported = false; ; isReported = true) {
        check();
        try {
          store = await stores.open(partition);
          return store;
        } catch (error) {
          if (!(error instanceof StoreInUseError)) throw error;
          const fields = { stage: "audience", partition, error: error.message };
          if (!isReported) log.warn(fields, "audience.store.in-use");
          await clock.sleep(IN_USE_WAIT_MS, signal);
        }
      }
    },
    remove: async () => {
      await stores.remove(partition);
      corruption = null;
    },
    erased: () => {
      isDue = true;
      compactWhenDue();
    },
    compactWhenDue,
    close: async () => {
      const open = store;
      store = null;
      await compacting;
      // If closing fails, nothing is lost, because written values are already on disk. A store that has failed before
      // may fail again here.
      await open?.close().catch(() => undefined);
    },
  };
}

/** Tracks which partitions have a store that failed and has not been opened again. */
export class FailedStores {
  readonly #errors = new Map<number, StoreError>();

  /** Wraps `fail`, so that a failure of the partition's store is recorded first. */
  noting(partition: number, fail: (thrown: unknown) => void): (thrown: unknown) => void {
    return (thrown) => {
      const error = storeErrorOf(thrown);
      if (error !== null) this.#errors.set(partition, error);
      fail(thrown);
    };
  }

  opened(partition: number): void {
    this.#errors.delete(partition);
  }

  /** Returns the error if the store is corrupt and must be removed before it is opened again; otherwise null. */
  corruptionOf(partition: number): StoreError | null {
    const error = this.#errors.get(partition) ?? null;
    return error?.failure === "corrupt" ? error : null;
  }

  /** @param isOurs false if the partition is known to belong to another process. */
  texts(isOurs: (partition: number) => boolean): readonly string[] {
    return [...this.#errors]
      .filter(([partition]) => isOurs(partition))
      .map(
        ([partition, { message }]) =>
          `the state store of partition ${partition} failed and is being reopened, and the partition's syncs wait until it is open: ${message}`,
      );
  }
}
