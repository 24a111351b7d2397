/**
 * Attempts the copies of deliveries that are retried, wherever they are read: on the retry topic or, if they were replayed
 * or that topic is missing, on the queue. Their owner need not know the order: at most one delivery of a key is retried at
 * a time, and every earlier one is settled.
 *
 *   a copy                                     then
 *   is settled, as the facts show              it is processed
 *   of a key of which a copy is in progress    it waits
 *   otherwise                                  it is attempted
 *
 *   an attempt of a copy                       then, before the copy counts as processed
 *   accepted, or the user is suppressed        fact `settled`
 *   failed, within the retry window            a copy in the next delay topic
 *   failed later, rejected, or canceled        dead letter, then fact `settled`, unless dead letters hold their key
 *
 *   a copy   step                              if the process crashes after it
 *   accepted 1 request                         it is attempted again
 *            2 fact `settled`                  it is dropped; the next one follows
 *            3 finish                          the same
 *   failed   1 request                         it is attempted again
 *            2 copy to a delay topic           two copies exist, of which the later one is dropped when the first is settled
 *            3 finish                          the same
 *   dead     1 dead letter                     it is attempted or dead-lettered again
 *            2 fact `settled`                  it is dropped; the next one follows
 *            3 finish                          the same
 *
 * The delay stage returns canceled copies early (`../../delay/due.ts`), so that they are dead-lettered here.
 */

import type { IncomingRecord } from "../../../domain/record.ts";
import type { PartitionHandler } from "../../../kafka/port.ts";
import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import { type TalliedDelivery, talliedDelivery } from "../../ledger/tallies.ts";
import { type Fact, orderKey, type QueuePlace, queuePlaceOf } from "../../order/facts.ts";
import { type Ended, type FinishingPartition, tally } from "../in-flight.ts";
import { InProgress } from "./in-progress.ts";
import type { OrderHost } from "./order-host.ts";

interface Copy {
  readonly place: QueuePlace;
  readonly key: string;
}

interface WaitingCopy extends Copy {
  readonly record: IncomingRecord;
}

/** The copies on one partition. */
export class Copies {
  readonly #host: OrderHost;
  readonly #assigned: BookedPartition;
  readonly #read: "in" | "in:retry";
  /** Passes records on to the dispatcher. */
  readonly #pass: (records: readonly IncomingRecord[]) => void;
  readonly #work = new InProgress();
  /** Copies that wait for another one of their key, in order. */
  #waiting: WaitingCopy[] = [];
  /** Copies in progress, by their own offset. */
  readonly #started = new Map<number, Copy>();
  #isDraining = false;

  constructor(
    host: OrderHost,
    assigned: BookedPartition,
    read: "in" | "in:retry",
    pass: (records: readonly IncomingRecord[]) => void,
  ) {
    this.#host = host;
    this.#assigned = assigned;
    this.#read = read;
    this.#pass = pass;
  }

  /** The place in the queue of a copy in progress; null if there is none. */
  placeOf(offset: number): QueuePlace | null {
    return this.#started.get(offset)?.place ?? null;
  }

  /** Takes the record if it is a copy. Call `pump` afterwards. */
  take(record: IncomingRecord): boolean {
    const place = queuePlaceOf(record);
    const key = orderKey(record);
    if (place === null || key === null) return false;
    this.#waiting.push({ place, key, record });
    return true;
  }

  /** Starts what may start. */
  pump(): void {
    if (this.#isDraining || this.#waiting.length === 0) return;
    const { busy, facts } = this.#host;
    const waiting = this.#waiting;
    this.#waiting = [];
    const records: IncomingRecord[] = [];
    for (const copy of waiting) {
      const { place, key, record } = copy;
      if (facts.of(place.partition).isSettled(key, place.offset)) {
        const delivery = talliedDelivery(record);
        this.#finish(record.offset, delivery, [{ outcome: "skipped:settled", of: delivery }]);
      } else if (busy.has(nameOf(copy))) this.#waiting.push(copy);
      else {
        busy.add(nameOf(copy));
        this.#started.set(record.offset, { place, key });
        records.push(record);
      }
    }
    if (records.length > 0) this.#pass(records);
  }

  /** The dispatcher has ended a delivery: it is accepted, or what replaces it is written. Returns false if it is not a copy. */
  ended(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): boolean {
    const copy = this.#started.get(offset);
    if (copy === undefined) return false;
    this.#work.run(async () => {
      const { place, key } = copy;
      const fact: Fact = { kind: "settled", key, offset: place.offset };
      const isWritten =
        !this.#settles(endings) ||
        (await this.#host.write(place.partition, fact, delivery.messageId));
      if (!isWritten) return;
      this.#finish(offset, delivery, endings);
      this.#started.delete(offset);
      this.#host.busy.delete(nameOf(copy));
      this.#host.pumpCopies();
    });
    return true;
  }

  /** Call when the dispatcher has drained the partition: nothing starts any more. Resolves when nothing is in progress. */
  async drain(inner: () => Promise<void>): Promise<void> {
    this.#isDraining = true;
    await inner();
    await this.#work.ended();
    // What was not ended is attempted by the next owner, which may be this process.
    for (const copy of this.#started.values()) this.#host.busy.delete(nameOf(copy));
  }

  #settles(endings: readonly Ended[]): boolean {
    if (endings.some(({ outcome }) => outcome === "retry")) return false;
    const isDead = endings.some(({ outcome }) => outcome.startsWith("dead:"));
    const isCancelled = endings.some(({ outcome }) => outcome === "dead:cancelled");
    return !isDead || isCancelled || !this.#host.holds;
  }

  #finish(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): void {
    const { book } = this.#assigned;
    if (book !== undefined) tally(book, delivery, this.#read, endings);
    this.#assigned.finish(offset);
  }
}

function nameOf({ place, key }: Copy): string {
  return `${place.partition}/${key}`;
}

/** Owns a partition of the retry topic. Copies without a place were written while the destination was loose. */
export class OrderedRetries implements PartitionHandler {
  readonly copies: Copies;
  readonly #assigned: BookedPartition;
  readonly #inner: PartitionHandler;
  /** Records that arrived before the facts were read; null afterwards. */
  #early: IncomingRecord[] | null = [];

  /** @param open opens the dispatcher's part of the partition. */
  constructor(
    host: OrderHost,
    assigned: BookedPartition,
    open: (partition: FinishingPartition) => PartitionHandler,
  ) {
    this.#assigned = assigned;
    this.#inner = open({ finish: (...args) => this.#ended(...args) });
    this.copies = new Copies(host, assigned, "in:retry", (records) => this.#inner.take(records));
    void host.facts.caughtUp().then(() => {
      const early = this.#early ?? [];
      this.#early = null;
      this.take(early);
    });
  }

  take(records: readonly IncomingRecord[]): void {
    if (this.#early !== null) {
      this.#early.push(...records);
      return;
    }
    const others = records.filter((record) => !this.copies.take(record));
    if (others.length > 0) this.#inner.take(others);
    this.copies.pump();
  }

  drain(): Promise<void> {
    return this.copies.drain(() => this.#inner.drain());
  }

  #ended(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): void {
    if (this.copies.ended(offset, delivery, endings)) return;
    const { book } = this.#assigned;
    if (book !== undefined) tally(book, delivery, "in:retry", endings);
    this.#assigned.finish(offset);
  }
}
