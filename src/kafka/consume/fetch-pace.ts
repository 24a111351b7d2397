/**
 * Decides when a fetch loop may query its broker again.
 *
 *   the last fetch                       the next one may start
 *   does not exist, or was long ago      immediately
 *   did not return all records           10 ms after its start
 *   returned all records                 `spacingMs` after its start, by default 10 ms
 *
 * A broker responds as soon as there is a single record. If records arrive continuously, each record would be
 * fetched alone, at the cost of a request. During the pause, several records accumulate. After a time without records,
 * a fetch is already waiting at the broker, so the next record is still returned immediately. With ten destinations, at
 * half of the load that a process can handle, this halves the p99 of the time from append to receipt (`npm run bench --
 * isolation`, 65 to 34 ms).
 */

import type { FetchedBatch } from "../membership.ts";

const SPACING_MIN_MS = 10;

/** A broker's last fetch. */
interface Last {
  beganAtMs: number;
  /** `true` if the fetch did not return all records of the partition. */
  hasMore: boolean;
}

export class FetchPace {
  readonly #spacingMs: number;
  /** The last fetch from each broker. */
  readonly #last = new Map<string, Last>();

  /** @param spacingMs at least 10. */
  constructor(spacingMs: number = SPACING_MIN_MS) {
    this.#spacingMs = spacingMs;
  }

  /** @param nowMs monotonic time in milliseconds. */
  waitMs(nodeId: string, nowMs: number): number {
    const { beganAtMs, hasMore } = this.#lastOf(nodeId);
    const spacingMs = hasMore ? SPACING_MIN_MS : this.#spacingMs;
    return Math.max(0, beganAtMs + spacingMs - nowMs);
  }

  start(nodeId: string, nowMs: number): void {
    this.#lastOf(nodeId).beganAtMs = nowMs;
  }

  /** @param hasMore `true` if the fetch did not return all records. */
  end(nodeId: string, hasMore: boolean): void {
    this.#lastOf(nodeId).hasMore = hasMore;
  }

  #lastOf(nodeId: string): Last {
    let last = this.#last.get(nodeId);
    if (last === undefined) {
      last = { beganAtMs: Number.NEGATIVE_INFINITY, hasMore: false };
      this.#last.set(nodeId, last);
    }
    return last;
  }
}

/** `true` if the partition has more records than were fetched. */
export function isBehind(batch: FetchedBatch): boolean {
  return batch.last !== null && batch.last + 1 < batch.end;
}
