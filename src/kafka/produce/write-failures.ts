/**
 * Whether a topic, or a partition of one, takes records (docs/isolation.md#a-topic-that-is-not-writable).
 *
 *   state     begins with                            records that may be given back
 *   taking    an acknowledgement; metadata that      wait for their acknowledgement
 *             shows the topic, or a leader
 *   refusing  an answer that says no, while taking   wait
 *   blocked   2 s of refusing                        are given back at once; one probes every 2 s
 *                                                    where only a write can show that it takes records
 *
 * Only an answer counts: no such topic, no leader, an error. Silence is an outage of the brokers, and
 * then other topics take nothing either: records wait. A clock that was set back makes any time long ago.
 */

import type { BlockedBy } from "../port.ts";

/** So long a topic refuses before its records are given back. */
export const BLOCK_AFTER_MS = 2_000;
const PROBE_EVERY_MS = 2_000;

export class WriteFailures {
  #sinceMs: number | null = null;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  by: BlockedBy = "unavailable";
  error = "";

  /** Of the first refusal since it last took records; null while it takes them. */
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

  /** True once in a while: the record that asks may go, to see whether it is taken. */
  mayProbe(nowMs: number): boolean {
    if (Math.abs(nowMs - this.#probedAtMs) < PROBE_EVERY_MS) return false;
    this.#probedAtMs = nowMs;
    return true;
  }
}
