/**
 * Why a local store failed.
 *
 *   unavailable   what is around it: a full or read-only disk, a missing permission. The store may be
 *                 whole, and is opened again later
 *   corrupt       anything else: what it holds is not what was written, a file of it is cut or gone
 */
export type StoreFailure = "unavailable" | "corrupt";

/** A failure of a local store. It holds a copy of what is in Kafka, so a stage outlives it. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(message: string, failure: StoreFailure, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** The failure of a store because of which something has failed; null: something else is the reason. */
export function storeErrorOf(error: unknown): StoreError | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (each instanceof StoreError) return each;
    each = each.cause;
  }
  return null;
}
