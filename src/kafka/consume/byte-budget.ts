/**
 * Limits the bytes of unprocessed records that a consumer may have in flight.
 *
 *   the next record                                        may be taken
 *   arrives while nothing is in flight                     yes, even if it is larger than the limits
 *   fits the consumer's own share                          yes
 *   exceeds that, and consumers share a common budget      if the consumer's bytes in flight, including this record,
 *                                                          do not exceed the free part of the budget
 *
 * The last row is a dynamic threshold: a single consumer gets up to half of the common budget, n busy
 * consumers get 1/(n + 1) of it each, and a part always remains free for a consumer that becomes busy.
 * (Choudhury and Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998, with alpha
 * 1.)
 */

import type { CommonBytes } from "../port.ts";

export class ByteBudget {
  readonly #maxBytes: number;
  readonly #part: number;
  readonly #common: CommonBytes | null;
  #inFlight = 0;

  /** @param part the fraction of the consumer's bytes that this budget has, such as 0.5. */
  constructor(maxBytes: number, common: CommonBytes | null, part = 1) {
    this.#maxBytes = maxBytes;
    this.#part = part;
    this.#common = common;
  }

  /** The consumer's own share, which may change while it runs. */
  get max(): number {
    return (this.#common?.each ?? this.#maxBytes) * this.#part;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  hasRoomFor(bytes: number): boolean {
    if (this.#inFlight === 0 || this.#inFlight + bytes <= this.max) return true;
    if (this.#common === null) return false;
    return this.#inFlight + bytes <= this.#common.max - this.#common.inFlight;
  }

  add(bytes: number): void {
    this.#inFlight += bytes;
    if (this.#common !== null) this.#common.inFlight += bytes;
  }

  remove(bytes: number): void {
    this.add(-bytes);
  }
}
