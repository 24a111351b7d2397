/** The stores that failed, by partition, until they are open again. */

import { type StoreError, storeErrorOf } from "../domain/store-error.ts";

export class FailedStores {
  readonly #errors = new Map<number, StoreError>();

  /** Notes each failure of a partition before `fail` is called. */
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

  /** Why the store is not to be opened once more before it is removed; null: it may be. */
  corruptionOf(partition: number): StoreError | null {
    const error = this.#errors.get(partition) ?? null;
    return error?.failure === "corrupt" ? error : null;
  }

  /** @param isOurs whether the partition is not known to be somebody else's by now. */
  texts(isOurs: (partition: number) => boolean): readonly string[] {
    return [...this.#errors]
      .filter(([partition]) => isOurs(partition))
      .map(
        ([partition, { message }]) =>
          `the state store of partition ${partition} is opened again, its syncs wait for that: ${message}`,
      );
  }
}
