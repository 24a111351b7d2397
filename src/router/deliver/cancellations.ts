/** The cancellations of a destination that are in force (`control/early-release.ts`). */

import { readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { cancelOf } from "../control/early-release.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";

export class Cancellations {
  readonly #destination: DestinationId;
  #all: readonly EarlyRelease[] = [];

  constructor(destination: DestinationId) {
    this.#destination = destination;
  }

  get areThere(): boolean {
    return this.#all.length > 0;
  }

  update(earlyReleases: readonly EarlyRelease[]): void {
    this.#all = earlyReleases.filter(({ kind }) => kind === "cancel");
  }

  /** The one that applies to the delivery; null if there is none. */
  of(record: IncomingRecord): EarlyRelease | null {
    if (this.#all.length === 0) return null;
    const read = readDelivery(record);
    if (read.kind === "invalid") return null;
    const { receivedAtMs, attempt, firstAttemptAtMs } = read.delivery;
    return cancelOf(this.#all, {
      // The topic decides the destination, because the record's headers may name another one.
      destination: this.#destination,
      timestampMs: record.timestampMs,
      receivedAtMs,
      firstAttemptAtMs: attempt > 0 ? firstAttemptAtMs : null,
    });
  }
}
