/**
 * What is in flight for a destination: partitions that this process owns, their deliveries, and units of deliveries
 * that share requests.
 *
 *   a delivery                               its partition
 *   is fetched                               passes it on, unless the partition is being drained
 *   starts, or is replaced by other records  counts one more step in progress
 *   is processed                             marks its offset as processed
 *   ends without being processed             does nothing: the next owner reads it again
 *
 * A drain ends when no step is in progress. Until then, each step that was counted must end in `finish` or `leave`.
 */

import assert from "node:assert/strict";
import type { Delivery } from "../../domain/delivery.ts";
import type { Endpoint } from "../../domain/destination.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import type { Measured } from "../destinations/port.ts";
import type { BookedPartition } from "../ledger/stage-ledger.ts";
import {
  deliveryIdentity,
  type Outcome,
  type TalliedDelivery,
  type Tallies,
} from "../ledger/tallies.ts";
import type { Turn } from "./circuit-breaker.ts";
import type { EndpointResult } from "./decide.ts";

/** A delivery that was fetched and is not processed yet. */
export interface InFlight {
  readonly owner: OwnedPartition;
  /** Identifies the record's key; null if it has none. */
  readonly key: string | null;
  readonly record: IncomingRecord;
  /** When the record was fetched. */
  readonly arrivedAtMs: number;
  /** Set by `queue.ts`: the next delivery with the same key hash, and the next one that may start. */
  behind: InFlight | null;
  after: InFlight | null;
  /** Set by `units.ts`: the unit in which the delivery waits; null if it waits alone. */
  unit: Unit | null;
}

/** A delivery of an attempt, with its results so far. */
export interface Call {
  readonly item: InFlight;
  /** Replaced once, when a unit starts: its retry window starts then. */
  delivery: Delivery;
  /** Grows when a request ends. */
  results: readonly EndpointResult[];
  /** True if the call contains an integer that JavaScript would round. */
  readonly isRounded: boolean;
  /** Null if the delivery is sent alone, without a batch. */
  readonly measured: Measured | null;
}

/** A delivery that may share a request. */
export interface UnitCall extends Call {
  readonly measured: Measured;
  /** True if an earlier delivery in the same unit has the same key. */
  readonly follows: boolean;
  /** The end of the delivery's retry window. */
  readonly untilMs: number;
}

/** Deliveries that are sent together. Only `units.ts` changes them. */
export interface Unit {
  readonly turn: Turn;
  readonly endpoints: readonly Endpoint[];
  /** Encodes which of the endpoints were unavailable when the unit was opened, and why. */
  readonly availability: number;
  readonly calls: UnitCall[];
  bytes: number;
  dueAtMs: number;
  isClosed: boolean;
  /** When this changes, the deliveries are evaluated again. */
  readonly suppressionsVersion: number;
}

/** The deliveries of a partition that are in flight, by a hash of their keys (`queue.ts`). */
export type Lines = (InFlight | null)[];

/** What became of a delivery, and the delivery as it was written; if nothing was written, as it was read. */
export interface Ended {
  readonly outcome: Outcome;
  readonly of: TalliedDelivery;
}

/** What a delivery needs of its partition. */
export interface FinishingPartition extends Pick<BookedPartition, "book"> {
  /** Resolves with false if another process may own it by now. Absent if that does not matter before a request. */
  readonly confirm?: () => Promise<boolean>;
  /** Marks the offset as processed. The delivery and its outcomes are for those who keep an order (`order/`). */
  finish(offset: number, delivery: TalliedDelivery, ended: readonly Ended[]): void;
}

/** Receives the records of partitions. */
interface PartitionHost {
  take(partition: OwnedPartition, records: readonly IncomingRecord[]): void;
  /** Called once. The partition's deliveries that have not started must not start. */
  drain(partition: OwnedPartition): void;
}

/** Handles a partition while this process owns it. */
export class OwnedPartition implements PartitionHandler {
  readonly turn: Turn;
  readonly confirm: FinishingPartition["confirm"];
  /** Set by `queue.ts` when the first delivery with a key arrives, and to null by a drain. */
  lines: Lines | null = null;
  /** The number of deliveries that follow another one in flight with their key. Changed by `queue.ts`. */
  followers = 0;
  readonly #host: PartitionHost;
  readonly #assigned: FinishingPartition;
  #isDraining = false;
  /** Raised by `begin`, lowered by `finish` and `leave`. */
  #inProgress = 0;
  /** Callers of `drain` that wait; called when nothing is in progress. */
  readonly #onIdle: (() => void)[] = [];

  constructor(host: PartitionHost, assigned: FinishingPartition, turn: Turn) {
    this.#host = host;
    this.#assigned = assigned;
    this.confirm = assigned.confirm;
    this.turn = turn;
  }

  take(records: readonly IncomingRecord[]): void {
    if (!this.#isDraining) this.#host.take(this, records);
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Resolves when no step is in progress. */
  async drain(): Promise<void> {
    if (!this.#isDraining) {
      this.#isDraining = true;
      this.#host.drain(this);
    }
    if (this.#inProgress === 0) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Call when a step of a delivery starts: an attempt, or writing the records that replace it. */
  begin(): void {
    this.#inProgress += 1;
  }

  /** Ends a step, after which the delivery is processed, with these outcomes. */
  finish(offset: number, delivery: TalliedDelivery, ended: readonly Ended[]): void {
    const { book } = this.#assigned;
    const read = this.turn === "retry" ? "in:retry" : "in";
    if (book !== undefined) tally(book, delivery, read, ended);
    this.#assigned.finish(offset, delivery, ended);
    this.leave();
  }

  /** Ends a step, after which the delivery is not processed, or another step of it is in progress. */
  leave(): void {
    assert(this.#inProgress > 0, "a step ended that had not started");
    this.#inProgress -= 1;
    if (this.#inProgress > 0) return;
    for (const then of this.#onIdle.splice(0)) then();
  }
}

/** @param read the outcome by which the delivery is counted as read. */
export function tally(
  book: Tallies,
  delivery: TalliedDelivery,
  read: Outcome,
  ended: readonly Ended[],
): void {
  const identity = deliveryIdentity(delivery);
  book.add(delivery.destination, read, identity);
  for (const { outcome, of } of ended) {
    book.add(of.destination, outcome, of === delivery ? identity : deliveryIdentity(of));
  }
}
