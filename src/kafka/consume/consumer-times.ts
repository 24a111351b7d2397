/**
 * How often a consumer polls and heartbeats, and how much it fetches.
 *
 *   setting               value                                 because
 *   poll                  5 s, at most half the session         an idle consumer heartbeats only when a
 *                         timeout                               poll returns; shorter polls cost CPU
 *   poll while paused     250 ms                                a resumed partition is seen with the next poll
 *   heartbeat             a quarter of the session timeout      two may get lost
 *   heartbeat while       at most 1 s                           a member hears of a rebalance with a
 *   polls return                                                heartbeat; the others wait for it
 *   rebalance timeout     a minute, or more if a drain may      a member that joins too late is thrown out
 *                         take longer
 *   bytes of a fetch      a quarter of `maxBytes`, between      they are in memory before they are counted
 *                         64 KiB and 1 MiB
 *   those of one          with `pause` its share of             one that pauses keeps its fetched records;
 *   partition             `maxBytes`, at least 64 KiB           a larger batch comes whole (KIP-74)
 */

import type { ConsumeOptions } from "../port.ts";

const POLL_MAX_MS = 5_000;
const BUSY_HEARTBEAT_MAX_MS = 1_000;
const REBALANCE_MIN_MS = 60_000;
const FETCH_MIN_BYTES = 64 * 1024;
const FETCH_MAX_BYTES = 1024 * 1024;

/** Longest wait for the commit that follows a drain. */
export const COMMIT_LIMIT_MS = 5_000;
export const POLL_PAUSED_MS = 250;

export interface ConsumerTimes {
  readonly pollMs: number;
  readonly heartbeatMs: number;
  readonly busyHeartbeatMs: number;
  readonly rebalanceTimeoutMs: number;
}

export function consumerTimes(sessionTimeoutMs: number, drainLimitMs: number): ConsumerTimes {
  const pollMs = Math.min(POLL_MAX_MS, Math.floor(sessionTimeoutMs / 2));
  const heartbeatMs = Math.floor(sessionTimeoutMs / 4);
  return {
    pollMs,
    heartbeatMs,
    busyHeartbeatMs: Math.min(BUSY_HEARTBEAT_MAX_MS, heartbeatMs),
    rebalanceTimeoutMs: Math.max(REBALANCE_MIN_MS, drainLimitMs + COMMIT_LIMIT_MS + 2 * pollMs),
  };
}

export function fetchMaxBytes({ maxBytes }: Pick<ConsumeOptions, "maxBytes">): number {
  return Math.floor(Math.min(FETCH_MAX_BYTES, Math.max(FETCH_MIN_BYTES, maxBytes / 4)));
}

/** Of one partition of so many. */
export function partitionFetchMaxBytes(
  { maxBytes, whenFull }: Pick<ConsumeOptions, "maxBytes" | "whenFull">,
  partitions: number,
): number {
  const fetchMax = fetchMaxBytes({ maxBytes });
  if (whenFull === "hold") return fetchMax;
  return Math.floor(Math.min(fetchMax, Math.max(FETCH_MIN_BYTES, maxBytes / partitions)));
}
