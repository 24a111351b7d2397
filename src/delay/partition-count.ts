/**
 * Counts all that waits in a partition of a delay topic that is owned here. The consumer has only the
 * head of it in hand. The records behind are read ahead, once, and counted (`buffered-counts.ts`).
 *
 *   offsets                                             are
 *   below the consumer's position                       finished
 *   in hand                                             counted one by one
 *   behind it, up to where reading ahead has come       counted in blocks
 *   behind that, there at the look before the last      read ahead next
 *   behind that                                         left to the consumer, which mostly has room
 *
 *   the partition                                       what waits there is
 *   was not looked at twice                             not known
 *   has an end that is not known now                    not known: Kafka is away
 *   has offsets that are to be read ahead               not known
 *   else                                                known, as it was at most half a minute ago
 */

import type { PartitionProgress } from "../kafka/port.ts";
import { UnreadRecords } from "./buffered-counts.ts";
import type { Waiting } from "./due.ts";
import { type Labels, REST } from "./labels.ts";
import { addTo, type Tallies, timesOf } from "./tally.ts";

/** In this time the consumer takes what there is room for. */
export const LOOK_EVERY_MS = 5_000;

export type SeenPartition = Pick<PartitionProgress, "position" | "end">;

export interface Range {
  readonly from: number;
  readonly to: number;
}

export class PartitionCount {
  readonly #labels: Labels;
  readonly #unread: UnreadRecords;
  /** Every record below it was taken, or read ahead, or is finished. */
  #covered = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** As seen at the last look; null: it was not known. */
  #end: number | null = null;
  /** As seen at the look before. */
  #wanted: number | null = null;
  #isSeen = false;

  constructor(labels: Labels, entriesMax: () => number) {
    this.#labels = labels;
    this.#unread = new UnreadRecords(entriesMax);
  }

  /** The consumer has them in hand from now on. */
  took(records: readonly Waiting[]): void {
    for (const waiting of records) {
      const { offset } = waiting.record;
      this.#unread.took(offset, [this.#labelOf(waiting), REST], timesOf(waiting));
      this.#covered = Math.max(this.#covered, offset + 1);
    }
  }

  /** Every record below the offset was taken, or has left. */
  passed(offset: number): void {
    this.#covered = Math.max(this.#covered, offset);
  }

  /** They have left although they were not taken. */
  left(records: readonly Waiting[]): void {
    for (const waiting of records) {
      this.#unread.left(waiting.record.offset, [this.#labelOf(waiting), REST]);
    }
  }

  /** @param seen null: where it ends is not known now. */
  look(seen: SeenPartition | null, nowMs: number): void {
    this.#isSeen = seen !== null;
    if (seen !== null) this.#passTo(seen.position);
    // A clock that was set back must not put it off.
    if (Math.abs(nowMs - this.#lookedAtMs) < LOOK_EVERY_MS) return;
    this.#lookedAtMs = nowMs;
    this.#wanted = this.#end;
    this.#end = seen?.end ?? null;
  }

  get isKnown(): boolean {
    return this.#isSeen && this.#wanted !== null && this.#covered >= this.#wanted;
  }

  /** To be read ahead; null: nothing. */
  get ahead(): Range | null {
    if (this.#wanted === null || this.#covered >= this.#wanted) return null;
    return { from: this.#covered, to: this.#wanted };
  }

  /** They were read ahead, up to an offset. Some may have been taken meanwhile. */
  read(records: readonly Waiting[], behind: number): void {
    for (const waiting of records) {
      const { offset } = waiting.record;
      if (offset >= this.#covered) {
        this.#unread.add(offset, this.#labelOf(waiting), timesOf(waiting));
      }
    }
    this.#covered = Math.max(this.#covered, behind);
  }

  /** Adds all that waits, as far as it is known. */
  addTo(tallies: Tallies, inFlight: Iterable<Waiting>): void {
    for (const waiting of inFlight) addTo(tallies, this.#labelOf(waiting), timesOf(waiting));
    this.#unread.addTo(tallies);
  }

  #labelOf(waiting: Waiting): string {
    return waiting.kind === "invalid" ? REST : this.#labels.of(waiting.destination);
  }

  #passTo(position: number): void {
    this.#unread.passTo(position);
    this.#covered = Math.max(this.#covered, position);
  }
}
