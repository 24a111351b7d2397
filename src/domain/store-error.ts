/**
 * Why a local store failed.
 *
 *   unavailable   the environment: a full or read-only disk, a missing permission. The store may be
 *                 intact, and is opened again later
 *   corrupt       anything else: the content is not what was written, or a file is truncated or missing
 */
export type StoreFailure = "unavailable" | "corrupt";

/** A failure of a local store. The stage keeps running, because the store's content is also in Kafka. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(message: string, failure: StoreFailure, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** The store failure that caused an error; null if the error has another cause. */
export function storeErrorOf(error: unknown): StoreError | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (each instanceof StoreError) return each;
    each = each.cause;
  }
  return null;
}
