/** A handler of partitions for tests: keeps what it takes, and lets tests wait for what happens. */

import type { IncomingRecord } from "../../../src/domain/record.ts";
import { recordBytes } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";

/** A partition for the time that it is assigned. */
export interface Tenure {
  readonly assigned: AssignedPartition;
  /** Taken in this tenure and not finished. */
  readonly inFlight: Map<number, IncomingRecord>;
  drains: number;
}

export class Taker {
  /** In the order of taking, over all tenures. */
  readonly taken: IncomingRecord[] = [];
  readonly tenures: Tenure[] = [];
  inFlightMax = 0;
  bytesInFlightMax = 0;
  batchMax = 0;
  /** Finishes each record when it comes. */
  readonly finishesAtOnce: boolean;
  readonly #finished = new Set<string>();
  readonly #admit: PartitionHandler["admit"];
  readonly #onDrain: (taker: Taker, tenure: Tenure) => Promise<void>;
  #waiting: { readonly holds: () => boolean; readonly resolve: () => void }[] = [];

  /** @param onDrain by default a drain waits for nothing. */
  constructor(
    options: {
      readonly finishesAtOnce?: boolean;
      readonly admit?: PartitionHandler["admit"];
      readonly onDrain?: (taker: Taker, tenure: Tenure) => Promise<void>;
    } = {},
  ) {
    this.finishesAtOnce = options.finishesAtOnce ?? false;
    this.#admit = options.admit;
    this.#onDrain = options.onDrain ?? (() => Promise.resolve());
  }

  readonly onAssigned = (assigned: AssignedPartition): PartitionHandler => {
    const tenure: Tenure = { assigned, inFlight: new Map(), drains: 0 };
    this.tenures.push(tenure);
    this.#happened();
    return {
      ...(this.#admit === undefined ? {} : { admit: this.#admit }),
      take: (records) => this.#take(tenure, records),
      drain: () => {
        tenure.drains += 1;
        this.#happened();
        return this.#onDrain(this, tenure);
      },
    };
  };

  /** Resolves when the condition holds; looked at whenever something is assigned, taken or drained. */
  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ holds, resolve });
    });
  }

  untilTaken(count: number): Promise<void> {
    return this.until(() => this.taken.length >= count);
  }

  /** Records taken and not finished, in the order of taking. */
  unfinished(): IncomingRecord[] {
    return this.taken.filter((record) => !this.#finished.has(keyOf(record)));
  }

  /** Finishes it in the latest tenure of its partition. */
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
