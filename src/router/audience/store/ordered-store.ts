/** The interface of an ordered store, which maps strings to strings, in the order of the keys' UTF-8 bytes. */

export type StoreEntry = readonly [key: string, value: string];
/** A value of null removes the key. */
export type StoreChange = readonly [key: string, value: string | null];

export interface OrderedStore {
  /** Returns the values in the order of the given keys; undefined for a key without a value. */
  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /**
   * Yields the entries from key `from` up to, but not including, key `to`, in order, as they were at the time of the
   * first read. Each list has 1 to 1,000 entries.
   */
  pieces(from: string, to: string): AsyncIterable<readonly StoreEntry[]>;
  /**
   * Writes all changes, or fails without writing any. Several calls take effect in order. Written changes survive a
   * crash of the process, but not always a crash of the machine.
   */
  write(changes: readonly StoreChange[]): Promise<void>;
  /**
   * Rewrites the data on disk between two keys, so that removed values are erased. The two keys themselves must be
   * unused, because they are written and then removed.
   */
  compact(from: string, to: string): Promise<void>;
  /** Waits for operations in progress. The store must not be used afterwards. */
  close(): Promise<void>;
}

/** Thrown if another process has the store open. */
export class StoreInUseError extends Error {
  override readonly name = "StoreInUseError";
}
