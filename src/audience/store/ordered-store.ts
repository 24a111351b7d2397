/** The interface of an ordered store: strings by key, ordered by the keys' UTF-8 bytes. */

export type Entry = readonly [key: string, value: string];
/** A value of null removes the key. */
export type Change = readonly [key: string, value: string | null];

export interface OrderedStore {
  /** The values in the order of the keys; undefined for a key without a value. */
  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /**
   * The entries from key `from` up to, but not including, `to`, in order, as they were at the time of the first read. A
   * list has 1 to 1,000 entries.
   */
  pieces(from: string, to: string): AsyncIterable<readonly Entry[]>;
  /**
   * Writes all changes, or fails and writes nothing. Written changes survive a crash of the process, but not always
   * one of the machine.
   */
  write(changes: readonly Change[]): Promise<void>;
  /**
   * Rewrites the data on disk between two keys, so that removed values are erased. The two keys themselves must be
   * unused, because they are written and removed.
   */
  compact(from: string, to: string): Promise<void>;
  /** Waits for operations in progress. The store must not be used afterwards. */
  close(): Promise<void>;
}

/** Another process has the store open. */
export class StoreInUseError extends Error {
  override readonly name = "StoreInUseError";
}
