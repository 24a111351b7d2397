/**
 * Decides which values are shown by the gauges of deliveries in delay topics.
 *
 *   per delay                                        shown
 *   all partitions of this process are counted       the count of each destination
 *   a partition is not counted                       no count, only the number of uncounted partitions
 *   the consumer has no partitions yet               no count, and one uncounted partition
 *
 *   per destination                                  shown
 *   its times                                        the earliest known time over all delays
 *   there are more destinations than may be shown    those with the most deliveries; the rest share a label
 */

import { addTo, REST, type Tallies, type Tally } from "./tally.ts";

/**
 * Maximum number of destinations with a label of their own, unless all must be shown. This keeps metrics small with
 * 1,000 destinations.
 */
export const WAITING_SHOWN_MAX = 50;

export interface DelayCount {
  readonly delay: string;
  /** The number of partitions that are not counted. */
  readonly unknown: number;
  readonly tallies: Tallies;
}

export interface ShownDelays {
  readonly counts: readonly {
    readonly destination: string;
    readonly delay: string;
    readonly count: number;
  }[];
  /** The counts by destination, summed over all delays. */
  readonly totals: ReadonlyMap<string, Tally>;
  /** All destinations with waiting deliveries, including those that share the common label. */
  readonly waiting: ReadonlySet<string>;
}

export const NOTHING_SHOWN: ShownDelays = { counts: [], totals: new Map(), waiting: new Set() };

export function shownOf(delays: readonly DelayCount[], destinationsMax: number): ShownDelays {
  const all: Tallies = new Map();
  for (const { tallies } of delays) sumInto(all, tallies, (label) => label);
  const named = new Set(
    [...all.keys()]
      .sort((one, other) => countOf(all, other) - countOf(all, one) || (one < other ? -1 : 1))
      .slice(0, destinationsMax),
  );
  const labelOf = (label: string) => (named.has(label) ? label : REST);
  const totals: Tallies = new Map();
  sumInto(totals, all, labelOf);
  const counts = delays
    .filter(({ unknown }) => unknown === 0)
    .flatMap(({ delay, tallies }) => {
      const merged: Tallies = new Map();
      sumInto(merged, tallies, labelOf);
      return [...merged].map(([destination, { count }]) => ({ destination, delay, count }));
    });
  return { counts, totals, waiting: new Set(all.keys()) };
}

function countOf(tallies: Tallies, label: string): number {
  return tallies.get(label)?.count ?? 0;
}

function sumInto(into: Tallies, tallies: Tallies, labelOf: (label: string) => string): void {
  for (const [label, tally] of tallies) addTo(into, labelOf(label), tally, tally.count);
}
