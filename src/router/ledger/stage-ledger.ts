/**
 * Writes the ledger of a stage, from which `switchyard audit` learns what became of each call.
 *
 *   step                                       if the process crashes after it
 *   1  the outcome of a record is              the record is read again, and its outcome repeated. The ledger
 *      acknowledged                            knows only the second one: the first is found as a record too
 *                                              many, right after a change of the owner
 *   2  its ledger record is acknowledged       the record is read again, and is in two ledger records: it was
 *                                              processed twice
 *   3  its offset is committed                 nothing is repeated
 *
 *   the ledger topic                           then
 *   is not writable for 2 s                    offsets are committed all the same, because nobody may have to
 *                                              wait for an audit. The ledger records wait in memory, and are
 *                                              written before the next commit
 *   stays so until 1,000 records wait          the oldest is dropped. `audit` says for which offsets it knows
 *                                              nothing, as it does after a crash meanwhile
 *
 * A consumer writes one record per commit, for all its partitions.
 */

import { type OutgoingRecord, partitionKey } from "../../domain/record.ts";
import type { AssignedPartition, PartitionHandler, Processed, Producer } from "../../kafka/port.ts";
import { type LedgerRecord, ledgerRecord } from "./ledger-record.ts";
import { Tallies } from "./tallies.ts";

/** Maximum number of ledger records that wait for their topic. */
export const WAITING_MAX = 1_000;

/** Shared by the stages of a process. */
export class ProcessLedger {
  readonly producer: Pick<Producer, "send">;
  /** The topic `ledger`. */
  readonly topic: string;
  /** Different for each start of a process. */
  readonly process: string;
  #count = 0;

  constructor(producer: Pick<Producer, "send">, topic: string, process: string) {
    this.producer = producer;
    this.topic = topic;
    this.process = process;
  }

  /** The number of the next record. A group may have several consumers, one after the other. */
  nextNumber(): number {
    this.#count += 1;
    return this.#count;
  }
}

/** A partition with the outcomes of its records, which are added in the tick in which a record is finished. */
export interface BookedPartition extends AssignedPartition {
  /** Absent if no ledger is written. */
  readonly book?: Tallies | undefined;
}

export type OnBooked = (partition: BookedPartition) => PartitionHandler;

/** The ledger of one consumer. */
export class StageLedger {
  readonly #deps: ProcessLedger;
  readonly #group: string;
  /** The outcomes of owned partitions since the last report: added by `booked`, removed by the last report. */
  readonly #books = new Map<string, Tallies>();
  /** Ledger records that are not acknowledged. */
  #waiting: OutgoingRecord[] = [];

  constructor(deps: ProcessLedger, group: string) {
    this.#deps = deps;
    this.#group = group;
  }

  /** Returns the callback for `ConsumeOptions`. */
  booked(onAssigned: OnBooked): (partition: AssignedPartition) => PartitionHandler {
    return (assigned) => {
      const book = new Tallies();
      const { topic, partition } = assigned;
      this.#books.set(partitionKey(assigned), book);
      return onAssigned({
        topic,
        partition,
        book,
        topicId: () => assigned.topicId(),
        finish: (offset) => assigned.finish(offset),
        hold: (offset) => assigned.hold(offset),
        isOurs: () => assigned.isOurs(),
      });
    };
  }

  /** See `ConsumeOptions.beforeCommit`. */
  readonly beforeCommit = (processed: readonly Processed[], isLast: boolean): Promise<void> => {
    const tallies = new Tallies();
    for (const place of processed) {
      const book = this.#books.get(partitionKey(place));
      if (book !== undefined) tallies.takeAll(book);
      if (isLast) this.#books.delete(partitionKey(place));
    }
    return this.write({ read: processed, isLast, tallies });
  };

  /** Resolves when the record is acknowledged, or waits for its topic. Never rejects. */
  async write(record: Pick<LedgerRecord, "read" | "isLast" | "tallies">): Promise<void> {
    const { producer, topic, process } = this.#deps;
    const number = this.#deps.nextNumber();
    this.#waiting.push(ledgerRecord(topic, { ...record, group: this.#group, process, number }));
    const sent = this.#waiting.slice(-WAITING_MAX);
    this.#waiting = [];
    try {
      const rejected = await producer.send(sent, { giveBack: true });
      // A record that is too large would be rejected again.
      const blocked = rejected.filter((each) => each.blocked !== undefined);
      this.#waiting.unshift(...blocked.map((each) => each.record));
    } catch {
      // The producer is closed.
    }
  }
}
