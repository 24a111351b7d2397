/** An ordered store, as the stages need it: texts by key, ordered by the keys' UTF-8 bytes. */

export type Entry = readonly [key: string, value: string];
/** Null: the key is removed. */
export type Change = readonly [key: string, value: string | null];

export interface OrderedStore {
  /** In the order of the keys; undefined where there is no value. */
  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /**
   * From the key `from` on and before `to`, in order, a few hundred at a time, as they were when
   * the first were asked for. Never an empty list.
   */
  pieces(from: string, to: string): AsyncIterable<readonly Entry[]>;
  /** All or nothing. Written values survive the process, though not always the machine. */
  write(changes: readonly Change[]): Promise<void>;
  /**
   * Rewrites the part on disk between two keys, so that nothing is left of removed values. The two
   * keys themselves must be in no use: they are written and removed.
   */
  compact(from: string, to: string): Promise<void>;
  /** Waits for operations under way. Nothing may be asked afterwards. */
  close(): Promise<void>;
}

/** Another process has the store open. */
export class StoreInUseError extends Error {
  override readonly name = "StoreInUseError";
}
