/**
 * Computes a consumer's lag and the age of its oldest unprocessed record, if they are known.
 *
 *   the consumer                                       lag           age of the oldest record
 *   has no partitions: it is joining or restarting     unknown       unknown
 *   has had no log end offset for 15 s                 unknown       of the fetched records, if any
 *   otherwise                                          known         of all unprocessed records
 *
 * The timestamp of a record that is not fetched is unknown, so its age is measured from the time at which a check first
 * found unfetched records.
 */

import type { PartitionProgress } from "../../kafka/port.ts";

/** Older log end offsets are ignored. */
const END_AGE_MAX_MS = 15_000;

export interface Backlog {
  /** Null if unknown. */
  readonly lag: number | null;
  readonly oldestAgeMs: number | null;
}

const UNKNOWN: Backlog = { lag: null, oldestAgeMs: null };

/** Follows the progress of one consumer. Call it at regular intervals. */
export class BacklogSight {
  /** For each partition, when a check first found records that are not fetched; undefined if none did. */
  #unreadSinceMs: Map<string, number> | undefined;

  look(progress: readonly PartitionProgress[], isAssigned: boolean, nowMs: number): Backlog {
    if (!isAssigned) {
      this.#unreadSinceMs = undefined;
      return UNKNOWN;
    }
    const lag = lagOf(progress, nowMs);
    const ages = progress
      .map((each) => this.#sinceMs(each))
      .filter((sinceMs) => sinceMs !== null)
      .map((sinceMs) => Math.max(0, nowMs - sinceMs));
    if (ages.length === 0) return { lag, oldestAgeMs: lag === null ? null : 0 };
    return { lag, oldestAgeMs: Math.max(...ages) };
  }

  #sinceMs({ topic, partition, ...at }: PartitionProgress): number | null {
    const key = `${topic}/${partition}`;
    const isUnread = at.oldestUnfinishedMs === null && at.end > at.position;
    if (!isUnread || at.endAtMs === null) {
      this.#unreadSinceMs?.delete(key);
      return at.oldestUnfinishedMs;
    }
    this.#unreadSinceMs ??= new Map();
    const sinceMs = this.#unreadSinceMs.get(key) ?? at.endAtMs;
    this.#unreadSinceMs.set(key, sinceMs);
    return sinceMs;
  }
}

/**
 * Returns the number of records between the positions and the log end offsets; null if an offset is unknown or too old.
 */
export function lagOf(progress: readonly PartitionProgress[], nowMs: number): number | null {
  let lag = 0;
  for (const { position, end, endAtMs } of progress) {
    if (endAtMs === null || nowMs - endAtMs > END_AGE_MAX_MS) return null;
    lag += Math.max(0, end - position);
  }
  return lag;
}
