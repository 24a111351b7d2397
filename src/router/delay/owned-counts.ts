/**
 * Keeps the counts of all partitions of delay topics that this process owns. A partition's count starts when the
 * partition is assigned and ends when it is revoked, because another process then counts its records.
 */

import type { PartitionProgress } from "../../kafka/port.ts";
import type { DelayedRecord } from "./due.ts";
import type { DelayCount } from "./gauges.ts";
import { PartitionCount } from "./partition-count.ts";
import { type Labels, NEVER, type Tallies } from "./tally.ts";

/** Maximum number of entries in all partitions. An entry is one destination in one block, and takes about 150 bytes. */
const ENTRIES_MAX = 100_000;

export interface OwnedPartition {
  readonly delay: string;
  readonly topic: string;
  readonly partition: number;
  /** The records that the consumer has passed on, and that have not been processed yet. */
  readonly inFlight: () => Iterable<DelayedRecord>;
  /** `true` if the record was released early, so that it is still in the log but no longer waits. */
  readonly isGone: (waiting: DelayedRecord) => boolean;
  /** `true` if the partition was revoked. */
  readonly isOver: () => boolean;
}

export interface OwnedCount extends OwnedPartition {
  readonly count: PartitionCount;
}

export class OwnedCounts {
  readonly #labels: Labels;
  readonly #all = new Map<string, OwnedCount>();

  constructor(labels: Labels) {
    this.#labels = labels;
  }

  /** Starts a count. It replaces the count of an earlier assignment. */
  begin(owned: OwnedPartition): PartitionCount {
    const entriesMax = () => ENTRIES_MAX / this.#all.size;
    const count = new PartitionCount(this.#labels, entriesMax);
    this.#all.set(`${owned.topic}/${owned.partition}`, { ...owned, count });
    return count;
  }

  all(): readonly OwnedCount[] {
    for (const [key, { isOver }] of this.#all) if (isOver()) this.#all.delete(key);
    return [...this.#all.values()];
  }

  /** @param progress the progress of those partitions of the delay whose log end offsets are currently known. */
  look(delay: string, progress: readonly PartitionProgress[], nowMs: number): void {
    const seen = new Map(progress.map((each) => [each.partition, each]));
    for (const { count, partition, ...of } of this.all()) {
      if (of.delay === delay) count.look(seen.get(partition) ?? null, nowMs);
    }
  }

  /**
   * For each destination, the earliest first attempt of its waiting deliveries. Destinations without attempted
   * deliveries are omitted.
   */
  firstAttempts(): ReadonlyMap<string, number> {
    const tallies: Tallies = new Map();
    for (const { count, inFlight } of this.all()) count.addTo(tallies, inFlight());
    const first = [...tallies].map(([label, tally]) => [label, tally.firstAttemptAtMs] as const);
    return new Map(first.filter(([, atMs]) => atMs !== NEVER));
  }

  /** @param isAssigned `true` if the delay's consumer has an assignment, even an empty one. */
  ofDelay(delay: string, isAssigned: boolean): DelayCount {
    const tallies: Tallies = new Map();
    const owned = this.all().filter((each) => each.delay === delay);
    for (const { count, inFlight } of owned) count.addTo(tallies, inFlight());
    const unknown = owned.filter(({ count }) => !count.isKnown).length;
    return { delay, tallies, unknown: isAssigned ? unknown : Math.max(1, unknown) };
  }
}
