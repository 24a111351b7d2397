/**
 * Counts all waiting records in a partition of a delay topic that this process owns. The consumer has only the first
 * of these records in flight. The records after those are read ahead once, and counted (`buffered-counts.ts`).
 *
 *   offsets                                             are
 *   below the consumer's position                       processed
 *   in flight                                           counted one by one
 *   behind those, and read ahead already                counted in blocks
 *   behind those, and in the log at two checks          read ahead next
 *   behind those, and newer                             left to the consumer, which usually has room
 *
 *   the partition                                       its count is
 *   was not checked twice                               unknown
 *   has no known log end offset                         unknown: Kafka is unreachable
 *   has offsets that must still be read ahead           unknown
 *   otherwise                                           known, at most half a minute old
 */

import type { PartitionProgress } from "../../kafka/port.ts";
import { UnreadRecords } from "./buffered-counts.ts";
import type { DelayedRecord } from "./due.ts";
import { addTo, type Labels, REST, type Tallies, timesOf } from "./tally.ts";

/** Within this time, the consumer takes as many records as it has room for. */
export const LOOK_EVERY_MS = 5_000;

export type SeenPartition = Pick<PartitionProgress, "position" | "end">;

export interface OffsetRange {
  readonly from: number;
  readonly to: number;
}

export class PartitionCount {
  readonly #labels: Labels;
  readonly #unread: UnreadRecords;
  /** Every record below this offset was taken, read ahead, or processed. */
  #covered = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** The log end offset at the last check; null if unknown. */
  #end: number | null = null;
  /** The log end offset at the check before the last one. */
  #wanted: number | null = null;
  #isSeen = false;

  constructor(labels: Labels, entriesMax: () => number) {
    this.#labels = labels;
    this.#unread = new UnreadRecords(entriesMax);
  }

  /** Call this with records that are now in flight in the consumer. */
  took(records: readonly DelayedRecord[]): void {
    for (const waiting of records) {
      const { offset } = waiting.record;
      this.#unread.took(offset, [this.#labelOf(waiting), REST], timesOf(waiting));
      this.#covered = Math.max(this.#covered, offset + 1);
    }
  }

  /** Call this when every record below the offset has been taken or has left. */
  passed(offset: number): void {
    this.#covered = Math.max(this.#covered, offset);
  }

  /** Call this with records that were removed from the buffer without being taken. */
  left(records: readonly DelayedRecord[]): void {
    for (const waiting of records) {
      this.#unread.left(waiting.record.offset, [this.#labelOf(waiting), REST]);
    }
  }

  /** @param seen null if the partition's log end offset is currently unknown. */
  look(seen: SeenPartition | null, nowMs: number): void {
    this.#isSeen = seen !== null;
    if (seen !== null) this.#passTo(seen.position);
    // The absolute value prevents a clock that was set back from postponing the check.
    if (Math.abs(nowMs - this.#lookedAtMs) < LOOK_EVERY_MS) return;
    this.#lookedAtMs = nowMs;
    this.#wanted = this.#end;
    this.#end = seen?.end ?? null;
  }

  get isKnown(): boolean {
    return this.#isSeen && this.#wanted !== null && this.#covered >= this.#wanted;
  }

  /** The range of offsets to read ahead; null if there is none. */
  get ahead(): OffsetRange | null {
    if (this.#wanted === null || this.#covered >= this.#wanted) return null;
    return { from: this.#covered, to: this.#wanted };
  }

  /** Call this with the records that were read ahead, up to an offset. Some of them may have been taken meanwhile. */
  read(records: readonly DelayedRecord[], behind: number): void {
    for (const waiting of records) {
      const { offset } = waiting.record;
      if (offset >= this.#covered) {
        this.#unread.add(offset, this.#labelOf(waiting), timesOf(waiting));
      }
    }
    this.#covered = Math.max(this.#covered, behind);
  }

  addTo(tallies: Tallies, inFlight: Iterable<DelayedRecord>): void {
    for (const waiting of inFlight) addTo(tallies, this.#labelOf(waiting), timesOf(waiting));
    this.#unread.addTo(tallies);
  }

  #labelOf(waiting: DelayedRecord): string {
    return waiting.kind === "invalid" ? REST : this.#labels.of(waiting.destination);
  }

  #passTo(position: number): void {
    this.#unread.passTo(position);
    this.#covered = Math.max(this.#covered, position);
  }
}
