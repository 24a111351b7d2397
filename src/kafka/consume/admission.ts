/**
 * Whether the next record of a partition is to be handed over yet: its handler says.
 *
 *   the handler gives   the record           and its partition
 *   a record            is handed over       goes on
 *   a promise           is not               waits, until the promise resolves; then it is asked again
 */

import type { IncomingRecord } from "../../domain/record.ts";
import type { PartitionHandler } from "../port.ts";

export class Admission {
  readonly #handler: PartitionHandler;
  readonly #onAdmits: () => void;
  #isWaiting = false;

  /** @param onAdmits called when a record may be handed over that had to wait. */
  constructor(handler: PartitionHandler, onAdmits: () => void) {
    this.#handler = handler;
    this.#onAdmits = onAdmits;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Null: it waits. */
  admit(record: IncomingRecord): IncomingRecord | null {
    const admitted = this.#handler.admit?.(record) ?? record;
    if (!(admitted instanceof Promise)) return admitted;
    this.#isWaiting = true;
    void admitted.then(() => {
      this.#isWaiting = false;
      this.#onAdmits();
    });
    return null;
  }
}
