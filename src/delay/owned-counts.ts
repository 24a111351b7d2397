/**
 * The counts of all partitions of delay topics that are owned here. A partition's count begins with
 * its assignment and ends when it is given up: then another process counts.
 */

import type { PartitionProgress } from "../kafka/port.ts";
import type { Waiting } from "./due.ts";
import type { DelayCount } from "./gauges.ts";
import type { Labels } from "./labels.ts";
import { PartitionCount } from "./partition-count.ts";
import { NEVER, type Tallies } from "./tally.ts";

/**
 * Of destinations in blocks, over all partitions. An entry takes about 150 bytes.
 */
const ENTRIES_MAX = 100_000;

export interface OwnedPartition {
  readonly delay: string;
  readonly topic: string;
  readonly partition: number;
  /** The records that the consumer has handed over and that are not finished. */
  readonly inFlight: () => Iterable<Waiting>;
  /** Whether it was pulled: it lies there, and waits for nothing. */
  readonly isGone: (waiting: Waiting) => boolean;
  /** Whether it has been given up. */
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

  /** In place of the one of an earlier assignment. */
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

  /** @param progress of the partitions of a tier whose ends are known now. */
  look(delay: string, progress: readonly PartitionProgress[], nowMs: number): void {
    const seen = new Map(progress.map((each) => [each.partition, each]));
    for (const { count, partition, ...of } of this.all()) {
      if (of.delay === delay) count.look(seen.get(partition) ?? null, nowMs);
    }
  }

  /** Of each destination that has been tried, the earliest first attempt among those that wait. */
  firstAttempts(): ReadonlyMap<string, number> {
    const tallies: Tallies = new Map();
    for (const { count, inFlight } of this.all()) count.addTo(tallies, inFlight());
    const first = [...tallies].map(([label, tally]) => [label, tally.firstAttemptAtMs] as const);
    return new Map(first.filter(([, atMs]) => atMs !== NEVER));
  }

  /** @param isAssigned whether its consumer has been given its partitions, perhaps none. */
  ofDelay(delay: string, isAssigned: boolean): DelayCount {
    const tallies: Tallies = new Map();
    const owned = this.all().filter((each) => each.delay === delay);
    for (const { count, inFlight } of owned) count.addTo(tallies, inFlight());
    const unknown = owned.filter(({ count }) => !count.isKnown).length;
    return { delay, tallies, unknown: isAssigned ? unknown : Math.max(1, unknown) };
  }
}
