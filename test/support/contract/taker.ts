/** A partition handler for tests, which keeps the records that it takes, and lets tests wait for events. */

import type { IncomingRecord } from "../../../src/domain/record.ts";
import { recordBytes } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";

/** A partition during one assignment. */
export interface Tenure {
  readonly assigned: AssignedPartition;
  /** Records that were taken in this tenure and are not finished. */
  readonly inFlight: Map<number, IncomingRecord>;
  drains: number;
}

export class Taker {
  /** All records, in the order in which they were taken, over all tenures. */
  readonly taken: IncomingRecord[] = [];
  readonly tenures: Tenure[] = [];
  inFlightMax = 0;
  bytesInFlightMax = 0;
  batchMax = 0;
  /** If true, finishes each record immediately. */
  readonly finishesAtOnce: boolean;
  readonly #finished = new Set<string>();
  readonly #admit: PartitionHandler["admit"];
  readonly #followers: (inFlight: number) => number;
  readonly #onDrain: (taker: Taker, tenure: Tenure) => Promise<void>;
  #waiting: { readonly holds: () => boolean; readonly resolve: () => void }[] = [];

  /**
   * @param followers returns how many of the records in flight wait for others; by default none.
   * @param onDrain called at a drain; by default, a drain does not wait.
   */
  constructor(
    options: {
      readonly finishesAtOnce?: boolean;
      readonly admit?: PartitionHandler["admit"];
      readonly followers?: (inFlight: number) => number;
      readonly onDrain?: (taker: Taker, tenure: Tenure) => Promise<void>;
    } = {},
  ) {
    this.finishesAtOnce = options.finishesAtOnce ?? false;
    this.#admit = options.admit;
    this.#followers = options.followers ?? (() => 0);
    this.#onDrain = options.onDrain ?? (() => Promise.resolve());
  }

  readonly onAssigned = (assigned: AssignedPartition): PartitionHandler => {
    const tenure: Tenure = { assigned, inFlight: new Map(), drains: 0 };
    this.tenures.push(tenure);
    this.#happened();
    const followers = () => this.#followers(tenure.inFlight.size);
    return {
      get followers() {
        return followers();
      },
      ...(this.#admit === undefined ? {} : { admit: this.#admit }),
      take: (records) => this.#take(tenure, records),
      drain: () => {
        tenure.drains += 1;
        this.#happened();
        return this.#onDrain(this, tenure);
      },
    };
  };

  /** Resolves when the condition is true. It is checked whenever something is assigned, taken or drained. */
  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ holds, resolve });
    });
  }

  untilTaken(count: number): Promise<void> {
    return this.until(() => this.taken.length >= count);
  }

  /** Records that are not finished, in the order in which they were taken. */
  unfinished(): IncomingRecord[] {
    return this.taken.filter((record) => !this.#finished.has(keyOf(record)));
  }

  /** Finishes the record in the latest tenure of its partition. */
  finish(record: IncomingRecord): void {
    const tenure = this.tenures.findLast(
      ({ assigned }) => assigned.topic === record.topic && assigned.partition === record.partition,
    );
    if (tenure === undefined) throw new Error(`${keyOf(record)} is in no partition of mine`);
    this.#finished.add(keyOf(record));
    tenure.inFlight.delete(record.offset);
    tenure.assigned.finish(record.offset);
  }

  #take(tenure: Tenure, records: readonly IncomingRecord[]): void {
    this.batchMax = Math.max(this.batchMax, records.length);
    for (const record of records) {
      this.taken.push(record);
      tenure.inFlight.set(record.offset, record);
    }
    this.inFlightMax = Math.max(this.inFlightMax, tenure.inFlight.size);
    let bytes = 0;
    for (const record of tenure.inFlight.values()) bytes += recordBytes(record);
    this.bytesInFlightMax = Math.max(this.bytesInFlightMax, bytes);
    if (this.finishesAtOnce) for (const record of records) this.finish(record);
    this.#happened();
  }

  #happened(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const waiter of waiting) {
      if (waiter.holds()) waiter.resolve();
      else this.#waiting.push(waiter);
    }
  }
}

export function keyOf(record: IncomingRecord): string {
  return `${record.topic}/${record.partition}/${record.offset}`;
}
