/**
 * A consumer's lag and the age of its oldest record that waits, as far as they are known.
 *
 *   the consumer                                       lag           age of the oldest
 *   has no partitions now: it joins, or starts again   not known     not known
 *   has not heard a partition's end for 15 s           not known     of those fetched, if there are any
 *   else                                               to the ends   of those fetched, and unread ones
 *
 * Of a record that is not fetched nobody knows the time. It has waited at least since it was seen to
 * lie there: by the end of its log, while nothing before it was left to do.
 */

import type { PartitionProgress } from "../kafka/port.ts";

/** An end that is older says nothing any more. */
const END_AGE_MAX_MS = 15_000;

export interface Backlog {
  /** Null: not known. */
  readonly lag: number | null;
  readonly oldestAgeMs: number | null;
}

const UNKNOWN: Backlog = { lag: null, oldestAgeMs: null };

/** Looks at one consumer's progress, time after time. */
export class BacklogSight {
  /** By partition: since when nothing is fetched of what waits there. */
  readonly #unreadSinceMs = new Map<string, number>();

  look(progress: readonly PartitionProgress[], isAssigned: boolean, nowMs: number): Backlog {
    if (!isAssigned) {
      this.#unreadSinceMs.clear();
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
      this.#unreadSinceMs.delete(key);
      return at.oldestUnfinishedMs;
    }
    const sinceMs = this.#unreadSinceMs.get(key) ?? at.endAtMs;
    this.#unreadSinceMs.set(key, sinceMs);
    return sinceMs;
  }
}

/** Records from the positions to the ends of the logs; null: an end is not known, or too old. */
export function lagOf(progress: readonly PartitionProgress[], nowMs: number): number | null {
  let lag = 0;
  for (const { position, end, endAtMs } of progress) {
    if (endAtMs === null || nowMs - endAtMs > END_AGE_MAX_MS) return null;
    lag += Math.max(0, end - position);
  }
  return lag;
}
