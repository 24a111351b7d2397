/**
 * Owns a partition of the retry topic of a destination with an order. It need not know the order: at most one delivery of
 * a key is retried at a time, and every earlier one is settled.
 *
 *   a record                                   then
 *   names no place in the queue                is passed on at once: it was written while the destination was loose
 *   is a replay, and its place is settled      is passed on at once, without its place: nothing waits for it
 *   is a replay, and its place is not settled  gets a fact `retry` again, so that its hold does not end, and is a copy
 *   is a copy that is settled                  is processed: it is a repeat
 *   of a key of which one is in progress       waits
 *   otherwise                                  is attempted
 *
 *   an attempt of a copy                       then, before the copy counts as processed
 *   accepted, or the user is suppressed        fact `settled`
 *   failed, within the retry window            a copy in the next delay topic; if the destination is loose now, without a
 *                                              place, and then the fact `settled`
 *   failed later, rejected, or canceled        dead letter, then fact `settled`, unless the dead letter holds its key
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
 * The delay stage dead-letters canceled copies in the same way.
 */

import { InFlightCount } from "../../../base/runtime/in-flight-set.ts";
import { readDelivery } from "../../../domain/delivery.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import type { PartitionHandler } from "../../../kafka/port.ts";
import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import { type TalliedDelivery, talliedDelivery } from "../../ledger/tallies.ts";
import { type QueuePlace, queuePlaceOf, withoutPlace } from "../../order/facts.ts";
import { type Ended, type FinishingPartition, tally } from "../in-flight.ts";
import { type OrderHost, resultOf } from "./order-host.ts";

interface Copy {
  readonly place: QueuePlace;
  readonly record: IncomingRecord;
}

export class OrderedRetries implements PartitionHandler {
  readonly #host: OrderHost;
  readonly #assigned: BookedPartition;
  readonly #inner: PartitionHandler;
  readonly #work = new InFlightCount();
  /** Copies that wait for another one of their key, in order. */
  #waiting: Copy[] = [];
  /** The places of copies in progress, by the offsets of these copies. */
  readonly #started = new Map<number, QueuePlace>();
  /** The keys of copies in progress. */
  readonly #busy = new Set<string>();
  #isDraining = false;

  /** @param open opens the dispatcher's part of the partition. */
  constructor(
    host: OrderHost,
    assigned: BookedPartition,
    open: (partition: FinishingPartition) => PartitionHandler,
  ) {
    this.#host = host;
    this.#assigned = assigned;
    this.#inner = open({
      finish: (...args) => this.#ended(...args),
      confirm: () => assigned.isOurs(),
    });
  }

  take(records: readonly IncomingRecord[]): void {
    const others: IncomingRecord[] = [];
    for (const record of records) {
      const place = queuePlaceOf(record);
      if (place === null) others.push(record);
      else if (!isReplay(record)) this.#waiting.push({ place, record });
      else if (this.#isSettled(place)) others.push(placeless(record));
      else {
        const again = { kind: "retry", ...place } as const;
        const { messageId } = talliedDelivery(record);
        this.#work.add(this.#host.write(place.line, again, messageId).then(() => undefined));
        this.#waiting.push({ place, record });
      }
    }
    if (others.length > 0) this.#inner.take(others);
    this.#pump();
  }

  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#inner.drain();
    await this.#work.ended();
  }

  #pump(): void {
    if (this.#isDraining || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const records: IncomingRecord[] = [];
    for (const copy of waiting) {
      const { place, record } = copy;
      if (this.#isSettled(place)) {
        const delivery = talliedDelivery(record);
        this.#finish(record.offset, delivery, [{ outcome: "skipped:settled", of: delivery }]);
      } else if (this.#busy.has(nameOf(place))) this.#waiting.push(copy);
      else {
        this.#busy.add(nameOf(place));
        this.#started.set(record.offset, place);
        records.push(record);
      }
    }
    if (records.length > 0) this.#inner.take(records);
  }

  /** The dispatcher has ended a delivery: it is accepted, or what replaces it is written. */
  #ended(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): void {
    const place = this.#started.get(offset);
    if (place === undefined) {
      this.#finish(offset, delivery, endings);
      return;
    }
    const settle = async () => {
      const result = resultOf(endings, this.#host);
      const isSettled = result === "accepted" || result === "rejected";
      const fact = { kind: "settled", ...place } as const;
      if (isSettled && !(await this.#host.write(place.line, fact, delivery.messageId))) return;
      this.#finish(offset, delivery, endings);
      this.#started.delete(offset);
      this.#busy.delete(nameOf(place));
      this.#pump();
    };
    this.#work.add(settle());
  }

  #isSettled({ line, key, offset }: QueuePlace): boolean {
    return this.#host.facts.of(line).isSettled(key, offset);
  }

  #finish(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): void {
    const { book } = this.#assigned;
    if (book !== undefined) tally(book, delivery, "in:retry", endings);
    this.#assigned.finish(offset);
  }
}

/** What was returned from a delay topic has a time at which it was due. */
function isReplay(record: IncomingRecord): boolean {
  const read = readDelivery(record);
  return read.kind === "delivery" && read.delivery.dueAtMs === null;
}

/** Fields of the record may be decoded on each access, so they are not copied by spreading it. */
function placeless(record: IncomingRecord): IncomingRecord {
  const { topic, partition, offset, timestampMs, key, value, schema, omitted } = record;
  const headers = withoutPlace(record.headers);
  return { topic, partition, offset, timestampMs, key, value, schema, omitted, headers };
}

function nameOf({ line, key }: QueuePlace): string {
  return `${line}/${key}`;
}
