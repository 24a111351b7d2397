/**
 * Collects the users of consecutive `members` records, so that they can be looked up in the order of their keys.
 * Each lookup reads a block of the store. When 200,000 users are sorted, neighboring users are often in the same
 * block.
 *
 *   users per lookup, with 10 million members         CPU µs per user who is stored
 *   5,000                                            14 to 17
 *   50,000                                           7
 *   200,000                                          3
 *
 * Until the collected users are applied, the stored position stays at the first of their records.
 */

import type { Audience, OpenSync } from "./audience.ts";
import type { Cause } from "./sync-state.ts";

/** Maximum number of collected users. While they are applied, they take 20 to 30 MB. */
const GATHERED_MAX = 200_000;
/** Number of users that are sorted without a pause. Sorting them takes at most 5 ms. */
const RANGE_USERS = 4_000;
/** Number of samples per range. With more samples, the sizes of the ranges differ less. */
const SAMPLES = 16;

export interface GatheredRecord {
  readonly cause: Cause;
  readonly userIds: readonly string[];
}

/** Records of one open sync. */
export interface GatheredSync {
  readonly audience: Audience;
  readonly sync: OpenSync;
  readonly records: GatheredRecord[];
}

export class Gathering {
  #syncs = new Map<string, GatheredSync>();
  #users = 0;
  #from: number | null = null;

  /** Offset of the first record; null if no users are collected. */
  get from(): number | null {
    return this.#from;
  }

  get isFull(): boolean {
    return this.#users >= GATHERED_MAX;
  }

  get syncs(): Iterable<GatheredSync> {
    return this.#syncs.values();
  }

  add(audience: Audience, sync: OpenSync, record: GatheredRecord): void {
    const known = this.#syncs.get(audience.id);
    if (known === undefined) this.#syncs.set(audience.id, { audience, sync, records: [record] });
    else known.records.push(record);
    this.#users += record.userIds.length;
    this.#from ??= record.cause.record.offset;
  }

  /** Call when all collected users have been applied. */
  clear(): void {
    this.#syncs = new Map();
    this.#users = 0;
    this.#from = null;
  }
}

/** User IDs, each with the first record that contains the user. */
export type UserRange = ReadonlyMap<string, GatheredRecord>;

/**
 * Splits the users into ranges of ascending keys. Users within a range are not sorted.
 *
 * @param breathe called repeatedly, so that other work can run.
 */
export async function inRanges(
  records: readonly GatheredRecord[],
  breathe: () => Promise<void>,
): Promise<readonly UserRange[]> {
  const bounds = boundsOf(records);
  const ranges = Array.from({ length: bounds.length + 1 }, () => new Map<string, GatheredRecord>());
  let count = 0;
  // Records are visited in reverse order: a user's first record then overwrites the later ones, and no lookup per
  // user is needed.
  for (const record of records.toReversed()) {
    for (const userId of record.userIds) {
      ranges[rangeOf(bounds, userId)]?.set(userId, record);
      count += 1;
      if (count % RANGE_USERS === 0) await breathe();
    }
  }
  return ranges;
}

/** The first user of each range, except for the first range. */
function boundsOf(records: readonly GatheredRecord[]): readonly string[] {
  const users = records.reduce((sum, { userIds }) => sum + userIds.length, 0);
  const ranges = Math.ceil(users / RANGE_USERS);
  if (ranges < 2) return [];
  const every = Math.floor(users / (ranges * SAMPLES));
  const samples: string[] = [];
  let at = 0;
  for (const { userIds } of records) {
    for (; at < userIds.length; at += every) samples.push(userIds[at] ?? "");
    at -= userIds.length;
  }
  samples.sort();
  return Array.from({ length: ranges - 1 }, (_, index) => {
    return samples[Math.floor(((index + 1) * samples.length) / ranges)] ?? "";
  });
}

/** The index of the range that contains the user: the number of bounds at or below the user. */
function rangeOf(bounds: readonly string[], userId: string): number {
  let from = 0;
  let to = bounds.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((bounds[middle] ?? "") <= userId) from = middle + 1;
    else to = middle;
  }
  return from;
}
