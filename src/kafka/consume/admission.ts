import type { IncomingRecord } from "../../domain/record.ts";
import type { PartitionHandler } from "../port.ts";

/**
 * Calls the handler's `admit` to find out whether the next record of a partition can be passed on.
 *
 *   the handler returns   the record           and its partition
 *   a record              is passed on         continues
 *   a promise             is not               waits until the promise resolves; then the handler is
 *                                              called again
 */
export class Admission {
  readonly #handler: PartitionHandler;
  readonly #onAdmits: () => void;
  readonly #ahead: (() => Iterable<IncomingRecord>) | undefined;
  #isWaiting = false;

  /** @param onAdmits called when a record that had to wait may be passed on. */
  constructor(
    handler: PartitionHandler,
    onAdmits: () => void,
    ahead?: () => Iterable<IncomingRecord>,
  ) {
    this.#handler = handler;
    this.#onAdmits = onAdmits;
    this.#ahead = ahead;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Null if the record has to wait. */
  admit(record: IncomingRecord): IncomingRecord | null {
    const admitted = this.#handler.admit?.(record, this.#ahead) ?? record;
    if (!(admitted instanceof Promise)) return admitted;
    this.#isWaiting = true;
    void admitted.then(() => {
      this.#isWaiting = false;
      this.#onAdmits();
    });
    return null;
  }
}
