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
 * Outcomes of records that were processed earlier are written without a commit (`BookedPartition.report`); after a crash
 * before that, an audit counts these deliveries as waiting.
 *
 * A consumer writes one record per commit, for all its partitions; or several, if there are very many sums.
 */

import { partitionKey } from "../../domain/record.ts";
import type { AssignedPartition, PartitionHandler, Processed } from "../../kafka/port.ts";
import { type LedgerRecord, ledgerRecord } from "./ledger-record.ts";
import type { ProcessLedger } from "./process-ledger.ts";
import { Tallies } from "./tallies.ts";

/** The number of sums that fit into a record, even if the IDs of destinations are long. */
const SUMS_MAX = 4_000;

/** A partition with the outcomes of its records, which are added in the tick in which a record is finished. */
export interface BookedPartition extends AssignedPartition {
  /** Absent if no ledger is written. */
  readonly book?: Tallies | undefined;
  /** Writes outcomes for which no commit follows, and empties them. Never rejects. Absent if no ledger is written. */
  readonly report?: ((outcomes: Tallies) => Promise<void>) | undefined;
}

export type OnBooked = (partition: BookedPartition) => PartitionHandler;

/** The ledger of one consumer. */
export class StageLedger {
  readonly #ledger: ProcessLedger;
  readonly #group: string;
  /** The outcomes of owned partitions since the last report: added by `booked`, removed by the last report. */
  readonly #books = new Map<string, Tallies>();

  constructor(ledger: ProcessLedger, group: string) {
    this.#ledger = ledger;
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
        report: (outcomes) => {
          const tallies = new Tallies();
          tallies.takeAll(outcomes);
          return this.write({ read: [], isLast: false, tallies });
        },
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
    // A release before its time has an outcome before its record is finished.
    if (!isLast) for (const book of this.#books.values()) tallies.takeAll(book);
    for (const place of isLast ? processed : []) {
      const book = this.#books.get(partitionKey(place));
      if (book !== undefined) tallies.takeAll(book);
      this.#books.delete(partitionKey(place));
    }
    return this.write({ read: processed, isLast, tallies });
  };

  /** See `ProcessLedger.write`. */
  write({ read, isLast, tallies }: Written): Promise<void> {
    const { topic, process } = this.#ledger;
    const records = tallies.parts(SUMS_MAX).map((part, at) => {
      const number = this.#ledger.nextNumber();
      const own = { group: this.#group, process, number };
      return ledgerRecord(topic, { ...own, read: at === 0 ? read : [], isLast, tallies: part });
    });
    return this.#ledger.write(records);
  }
}

type Written = Pick<LedgerRecord, "read" | "isLast" | "tallies">;
