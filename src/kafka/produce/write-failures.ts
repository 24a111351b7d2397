/**
 * Tracks whether a topic, or one of its partitions, is writable (docs/guarantees.md#a-topic-that-is-not-writable).
 *
 *   state      starts with                           records that may be returned
 *   writable   an acknowledgment; metadata that      wait for their acknowledgment
 *              contains the topic, or a leader
 *   rejecting  an error response, while writable     wait
 *   blocked    2 s of rejecting                      are returned immediately; one is sent every 2 s if
 *                                                    only a write can show that the topic is writable
 *
 * Only error responses count: the topic is missing, there is no leader, or another error occurred. A missing response
 * means that brokers are down. Then other topics are not writable either, so records wait. If the clock was set back,
 * stored times count as long ago.
 */

import type { BlockedBy } from "../port.ts";

/** How long a topic may reject writes before its records are returned. */
export const BLOCK_AFTER_MS = 2_000;
const PROBE_EVERY_MS = 2_000;

export class WriteFailures {
  #sinceMs: number | null = null;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  by: BlockedBy = "unavailable";
  error = "";

  /** Time of the first error since it was last writable; null while it is writable. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }

  recordRejection(by: BlockedBy, error: string, nowMs: number): void {
    this.#sinceMs ??= nowMs;
    this.by = by;
    this.error = error;
  }

  recordSuccess(): void {
    this.#sinceMs = null;
    this.#probedAtMs = Number.NEGATIVE_INFINITY;
  }

  isBlocked(nowMs: number): boolean {
    return this.#sinceMs !== null && Math.abs(nowMs - this.#sinceMs) >= BLOCK_AFTER_MS;
  }

  /** Returns true at most every 2 s: the current record is then sent, to find out whether the topic is writable. */
  mayProbe(nowMs: number): boolean {
    if (Math.abs(nowMs - this.#probedAtMs) < PROBE_EVERY_MS) return false;
    this.#probedAtMs = nowMs;
    return true;
  }
}
