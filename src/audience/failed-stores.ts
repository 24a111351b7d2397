/** Tracks which partitions have a store that failed and has not been opened again. */

import { type StoreError, storeErrorOf } from "../domain/store-error.ts";

export class FailedStores {
  readonly #errors = new Map<number, StoreError>();

  /** Wraps `fail`, so that the failure of a store is recorded first. */
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
