/**
 * Ends the deliveries of a destination, after an attempt or without one. Deliveries that are canceled
 * (`control/early-release.ts`) end here, too.
 *
 *   a delivery                           its offset counts as processed     if the process crashes before that
 *   is accepted                          immediately                        it is attempted again
 *   belongs to a suppressed user         immediately                        that is decided again
 *   is replaced by other records:        when the brokers have              it continues twice: here, and from
 *   a retry or dead letters              acknowledged all of them; its      those records that were written
 *                                        key and slot are free before that
 *   is canceled                          the same, with a dead letter; or   the same
 *                                        immediately, if its user is
 *                                        suppressed
 *   is replaced by records that can no   never: the next owner of the       the same
 *   longer be written                    partition reads it again
 */

import { type Delivery, readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { cancelledText, cancelOf } from "../control/early-release.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";
import { type Outcome, type TalliedDelivery, talliedDelivery } from "../ledger/tallies.ts";
import { suppressedDelivery } from "../stage/content.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import type { Decision, Output } from "./decide.ts";
import {
  type DeadLetterTopics,
  deadLetter,
  type FollowUpWriter,
  type Replacement,
  replacement,
} from "./follow-up-record.ts";
import type { Call, Ended, InFlight } from "./in-flight.ts";
import type { Queue } from "./queue.ts";
import type { SlotScheduler } from "./slot-scheduler.ts";

interface CompletionPorts {
  readonly writer: FollowUpWriter;
  readonly observer: { suppressed(delivery: Delivery, nowMs: number): void };
  /** Absent if nobody is suppressed. */
  readonly suppressions?: KnownSuppressions | undefined;
}

export class Completions {
  readonly #destination: DestinationId;
  readonly #topics: DeadLetterTopics;
  readonly #ports: CompletionPorts;
  readonly #queue: Queue;
  readonly #slots: SlotScheduler;
  /** The cancellations in force. Replaced by `update`. */
  #cancellations: readonly EarlyRelease[] = [];

  constructor(
    destination: DestinationId,
    topics: DeadLetterTopics,
    ports: CompletionPorts,
    queue: Queue,
    slots: SlotScheduler,
  ) {
    this.#destination = destination;
    this.#topics = topics;
    this.#ports = ports;
    this.#queue = queue;
    this.#slots = slots;
  }

  /** Carries out the decision after an attempt. @param trace links the records that replace the delivery to it. */
  settle(
    { item, delivery }: Call,
    { outputs }: Decision,
    trace: AttemptTrace | null,
    nowMs: number,
  ) {
    if (outputs.length === 0) {
      this.#processed(item, delivery, "delivered");
      return;
    }
    this.replace(item, outputs, nowMs, trace?.follow(item.record));
    item.owner.leave();
  }

  /** @param record the record with which the replacements are created, if it is not the delivery's own. */
  replace(item: InFlight, outputs: readonly Output[], nowMs: number, record = item.record): void {
    this.#write(
      item,
      outputs.map((output) => replacement(output, record, this.#topics, nowMs)),
    );
  }

  /** Replaces a record that is not a valid delivery. */
  refuse(item: InFlight, error: string, nowMs: number): void {
    this.#write(item, [deadLetter(item.record, "invalid-call", error, this.#topics, nowMs)]);
  }

  /** Ends a delivery without an attempt, because its user is suppressed. */
  suppress(item: InFlight, delivery: Delivery, nowMs: number): void {
    this.#ports.observer.suppressed(delivery, nowMs);
    item.owner.begin();
    this.#processed(item, delivery, "suppressed");
  }

  /** Returns true if deliveries that wait may be canceled. */
  update(earlyReleases: readonly EarlyRelease[]): boolean {
    this.#cancellations = earlyReleases.filter(({ kind }) => kind === "cancel");
    return this.#cancellations.length > 0;
  }

  isCancelled({ record }: InFlight): boolean {
    return this.#cancelOf(record) !== null;
  }

  /** Ends the delivery if it is canceled. Returns false if it is not. */
  cancel(item: InFlight, nowMs: number): boolean {
    const cancel = this.#cancelOf(item.record);
    if (cancel === null) return false;
    const suppressed = suppressedDelivery(item.record, this.#ports.suppressions);
    if (suppressed === null) {
      const error = cancelledText(cancel);
      this.#write(item, [deadLetter(item.record, "cancelled", error, this.#topics, nowMs)]);
    } else this.suppress(item, suppressed, nowMs);
    return true;
  }

  #cancelOf(record: IncomingRecord): EarlyRelease | null {
    if (this.#cancellations.length === 0) return null;
    const read = readDelivery(record);
    if (read.kind === "invalid") return null;
    const { receivedAtMs, attempt, firstAttemptAtMs } = read.delivery;
    return cancelOf(this.#cancellations, {
      // The topic decides the destination, because the record's headers may name another one.
      destination: this.#destination,
      timestampMs: record.timestampMs,
      receivedAtMs,
      firstAttemptAtMs: attempt > 0 ? firstAttemptAtMs : null,
    });
  }

  #processed(item: InFlight, delivery: Delivery, outcome: Outcome): void {
    this.#queue.end(item);
    item.owner.finish(item.record.offset, delivery, [{ outcome, of: delivery }]);
  }

  /** Replaces the delivery with other records. The next delivery with its key may start. */
  #write(item: InFlight, replacements: readonly Replacement[]): void {
    const { owner } = item;
    // Unlike the record, these objects stay in memory until the write completes.
    const { offset } = item.record;
    const tallied = talliedDelivery(item.record);
    const written = replacements.map(({ kind, outgoing }) =>
      kind === "retry" ? talliedDelivery(outgoing) : tallied,
    );
    owner.begin();
    for (const each of replacements) {
      if (each.kind === "retry") this.#slots.expectRetry(each.dueAtMs);
    }
    this.#queue.end(item);
    this.#ports.writer.write(replacements, (outcomes) => {
      if (outcomes === null) owner.leave();
      else owner.finish(offset, tallied, ended(outcomes, written));
    });
  }
}

/** @param written the delivery as it was written, for each outcome. */
function ended(
  outcomes: readonly Outcome[],
  written: readonly TalliedDelivery[],
): readonly Ended[] {
  return outcomes.flatMap((outcome, at) => {
    const of = written[at];
    return of === undefined ? [] : [{ outcome, of }];
  });
}
