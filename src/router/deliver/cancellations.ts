/** Finds canceled records on a destination's topics, and replaces them with dead letters. */

import { readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { cancelledText, cancelOf } from "../control/early-release.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";
import { type DeadLetterTopics, deadLetter, type Replacement } from "./follow-up-record.ts";

export class Cancels {
  readonly #destination: DestinationId;
  readonly #topics: DeadLetterTopics;
  #earlyReleases: readonly EarlyRelease[] = [];

  constructor(destination: DestinationId, topics: DeadLetterTopics) {
    this.#destination = destination;
    this.#topics = topics;
  }

  /** Replaces the earlier list. Early releases of the kind `retry` are ignored here. */
  are(earlyReleases: readonly EarlyRelease[]): void {
    this.#earlyReleases = earlyReleases.filter(({ kind }) => kind === "cancel");
  }

  has(record: IncomingRecord): boolean {
    return this.#cancelOf(record) !== null;
  }

  /** The dead letter for a canceled record; null if the record was not canceled. */
  deadLetter(record: IncomingRecord, nowMs: number): Replacement | null {
    const cancel = this.#cancelOf(record);
    if (cancel === null) return null;
    return deadLetter(record, "cancelled", cancelledText(cancel), this.#topics, nowMs);
  }

  #cancelOf(record: IncomingRecord): EarlyRelease | null {
    if (this.#earlyReleases.length === 0) return null;
    const read = readDelivery(record);
    if (read.kind === "invalid") return null;
    const { receivedAtMs, attempt, firstAttemptAtMs } = read.delivery;
    return cancelOf(this.#earlyReleases, {
      // The topic decides the destination, because the record's headers may name another one.
      destination: this.#destination,
      timestampMs: record.timestampMs,
      receivedAtMs,
      firstAttemptAtMs: attempt > 0 ? firstAttemptAtMs : null,
    });
  }
}
