/**
 * Adds up the records of the ledger: what each stage did with the records of each partition, and when the owner of a
 * partition changed.
 *
 *   a ledger record of a partition                      shows
 *   covers offsets that another one covers              they were processed twice
 *   comes from another owner than the one before it,    the earlier owner crashed. What it had done since its last
 *     which did not say that it ends                    ledger record was done again, and is in no ledger record
 *   ... which said that it ends                         what was still being written then was done again
 *   is the first one of a partition, or after an owner  an owner before it may have crashed before its first ledger
 *     that said that it ends                            record, since the calls were received that it is about
 *   starts where another program committed              an operator moved the offset: forward if offsets between the
 *                                                       two are not covered, and back if some are covered twice
 *   starts above the one before it, otherwise           offsets between the two were processed by a process that
 *                                                       writes no ledger, or were deleted before they were read
 *
 * A replay has no partitions. Its owner is the process that works on it: each one writes a record before it writes
 * anything else. If the last record does not say that it ends, the replay is in progress, or crashed.
 *
 * The records of a group are in one partition of the ledger, and therefore in order.
 */

import type { DestinationId } from "../../domain/ids.ts";
import { type PartitionPlace, partitionKey } from "../../domain/record.ts";
import type { GroupNames } from "../../domain/topics.ts";
import type { OffsetRange, Processed } from "../../kafka/port.ts";
import type { LedgerRecord } from "../../router/ledger/ledger-record.ts";
import { BIN_MS, type Outcome, type Sum } from "../../router/ledger/tallies.ts";
import { Coverage } from "./coverage.ts";

/** The part of Switchyard that wrote a ledger record. */
export type Writer = "route" | "deletion" | "deliver" | "delay" | "replay";

export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a writer did with the calls of one bin for one destination, according to a ledger record. */
export interface BookedSum {
  readonly writer: Writer;
  readonly bin: number;
  readonly destination: string;
  readonly outcome: Outcome;
  readonly sum: Sum;
  /** When the ledger record was written. */
  readonly atMs: number;
}

/** The bins of calls that are audited: from the first up to, but not including, `end`. */
export interface Bins {
  readonly first: number;
  readonly end: number;
}

export function isIn({ first, end }: Bins, bin: number): boolean {
  return bin >= first && bin < end;
}

/** The partition of one incarnation of a topic. */
export interface BookedPartition {
  readonly topicId: string;
  readonly group: string;
  readonly coverage: Coverage;
  /** Ranges that were processed again. */
  readonly repeats: OffsetRange[];
  /** Offsets that nobody processed, because another program committed an offset above them. */
  readonly moved: OffsetRange[];
}

/** From the last ledger record of an owner to the first one of the next. */
export interface OwnerChange extends Interval {
  readonly group: string;
  readonly isCrash: boolean;
}

/** An owner that gave up a partition may still be writing for this time. */
const AFTER_END_MS = 60_000;
/** For this time, a replay may have written before a ledger record. */
const UNBOOKED_MS = 600_000;

interface Tenure {
  readonly group: string;
  readonly process: string;
  readonly hasEnded: boolean;
  readonly atMs: number;
}

export class Books {
  readonly #groups: GroupNames;
  readonly #bins: Bins;
  readonly #onSum: (sum: BookedSum) => void;
  readonly #partitions = new Map<string, BookedPartition>();
  readonly #tenures = new Map<string, Tenure>();
  readonly #changes: OwnerChange[] = [];
  /** The time of the first ledger record, or Infinity without one. */
  firstMs = Number.POSITIVE_INFINITY;

  /** @param onSum called with the sums of these bins. */
  constructor(groups: GroupNames, bins: Bins, onSum: (sum: BookedSum) => void) {
    this.#groups = groups;
    this.#bins = bins;
    this.#onSum = onSum;
  }

  add(record: LedgerRecord, atMs: number): void {
    const writer = writerOf(record.group, this.#groups);
    if (writer === null) return;
    // The partitions of the ledger are read in parallel.
    this.firstMs = Math.min(this.firstMs, atMs);
    record.tallies.each((bin, destination, outcome, sum) => {
      if (!isIn(this.#bins, bin)) return;
      this.#onSum({ writer, bin, destination, outcome, sum, atMs });
    });
    for (const processed of record.read) this.#process(record, processed, atMs);
    if (writer === "replay") this.#own(record.group, record, false, atMs);
  }

  /** Owners that gave up their partitions or crashed, and replays that have not ended. */
  changes(): readonly OwnerChange[] {
    return [...this.#changes, ...this.openReplays()];
  }

  openReplays(): readonly OwnerChange[] {
    const open = [...this.#tenures.values()].filter(({ group, hasEnded }) => {
      return !hasEnded && writerOf(group, this.#groups) === "replay";
    });
    return open.map((tenure) => {
      const { group, atMs } = tenure;
      return { group, fromMs: atMs, toMs: this.#lastWriteMs(tenure), isCrash: false };
    });
  }

  /** The current incarnation of a topic's partition; null if the ledger does not have it. */
  partitionOf(place: PartitionPlace, topicId: string): BookedPartition | null {
    return this.#partitions.get(keyOf(place, topicId)) ?? null;
  }

  /**
   * Returns the tenure until now.
   *
   * @param isFirst true if the record begins a tenure, which it also does if the process is another one.
   */
  #own(
    key: string,
    { group, process, isLast }: LedgerRecord,
    isFirst: boolean,
    atMs: number,
  ): Tenure | undefined {
    const before = this.#tenures.get(key);
    this.#tenures.set(key, { group, process, hasEnded: isLast, atMs });
    if (before === undefined || !(isFirst || before.process !== process)) return before;
    const lastMs = this.#lastWriteMs(before);
    // An owner that has ended may still be writing when the next one begins.
    const toMs = before.hasEnded ? lastMs : Math.min(atMs, lastMs);
    this.#changes.push({ group, fromMs: before.atMs, toMs, isCrash: !before.hasEnded });
    return before;
  }

  /** The latest time at which the owner may have written what is not in the ledger. */
  #lastWriteMs({ group, hasEnded, atMs }: Tenure): number {
    if (hasEnded) return atMs + AFTER_END_MS;
    const isReplay = writerOf(group, this.#groups) === "replay";
    return isReplay ? atMs + UNBOOKED_MS : Number.POSITIVE_INFINITY;
  }

  #process(record: LedgerRecord, processed: Processed, atMs: number): void {
    const { group } = record;
    const { topicId, ranges, start } = processed;
    const key = keyOf(processed, topicId);
    const none = { coverage: new Coverage(), repeats: [], moved: [] };
    const booked = this.#partitions.get(key) ?? { topicId, group, ...none };
    this.#partitions.set(key, booked);
    const before = this.#own(key, record, start !== undefined, atMs);
    if (before?.hasEnded !== false && start !== undefined && ranges.length > 0) {
      // Another owner can only have processed what this one processes now.
      const fromMs = Math.max(before?.atMs ?? 0, receivedFromMs(record));
      if (fromMs < atMs) this.#changes.push({ group, fromMs, toMs: atMs - 1, isCrash: false });
    }
    const { end } = booked.coverage;
    if (start?.isOurs === false && start.offset > end && before !== undefined) {
      booked.moved.push([end, start.offset]);
    }
    for (const range of ranges) booked.repeats.push(...booked.coverage.add(range));
  }
}

/** When the earliest call in a ledger record was received; infinity if the record has no calls. */
function receivedFromMs({ tallies }: LedgerRecord): number {
  let fromMs = Number.POSITIVE_INFINITY;
  tallies.each((bin) => {
    fromMs = Math.min(fromMs, bin * BIN_MS);
  });
  return fromMs;
}

function keyOf(place: PartitionPlace, topicId: string): string {
  return `${partitionKey(place)}/${topicId}`;
}

export function writerOf(group: string, groups: GroupNames): Writer | null {
  if (group === groups.route) return "route";
  if (group === groups.deletion) return "deletion";
  if (group.startsWith(groups.deliver("" as DestinationId))) return "deliver";
  if (group.startsWith(groups.delay(""))) return "delay";
  return group.startsWith(groups.replay("")) ? "replay" : null;
}
