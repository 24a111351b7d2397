/**
 * How often a consumer polls and heartbeats, and how much it fetches.
 *
 *   setting               value                                 because
 *   poll                  5 s, at most half the session         an idle consumer heartbeats only when a
 *                         timeout                               poll returns; shorter polls cost CPU
 *   poll while paused     250 ms                                a resumed partition is seen with the next poll
 *   heartbeat             a quarter of the session timeout      two may get lost
 *   rebalance timeout     a minute, or more if a drain may      who joins too late is thrown out
 *                         take longer
 *   bytes of a fetch      a quarter of `bytesMax`, between      they are in memory before they are counted
 *                         64 KiB and 1 MiB
 *   those of one          with `pause` its share of             each that pauses keeps what was fetched
 *   partition             `bytesMax`, at least 64 KiB           of it; a larger batch comes whole (KIP-74)
 */

import type { ConsumeOptions } from "./port.ts";

const POLL_MAX_MS = 5_000;
const REBALANCE_MIN_MS = 60_000;
const FETCH_BYTES_MIN = 64 * 1024;
const FETCH_BYTES_MAX = 1024 * 1024;

/** Longest wait for the commit that follows a drain. */
export const COMMIT_LIMIT_MS = 5_000;
export const POLL_PAUSED_MS = 250;

export interface ConsumerTimes {
  readonly pollMs: number;
  readonly heartbeatMs: number;
  readonly rebalanceTimeoutMs: number;
}

export function consumerTimes(sessionTimeoutMs: number, drainLimitMs: number): ConsumerTimes {
  const pollMs = Math.min(POLL_MAX_MS, Math.floor(sessionTimeoutMs / 2));
  return {
    pollMs,
    heartbeatMs: Math.floor(sessionTimeoutMs / 4),
    rebalanceTimeoutMs: Math.max(REBALANCE_MIN_MS, drainLimitMs + COMMIT_LIMIT_MS + 2 * pollMs),
  };
}

export function fetchBytesMax({ bytesMax }: Pick<ConsumeOptions, "bytesMax">): number {
  return Math.floor(Math.min(FETCH_BYTES_MAX, Math.max(FETCH_BYTES_MIN, bytesMax / 4)));
}

/** Of one partition of so many. */
export function partitionFetchBytesMax(
  { bytesMax, whenFull }: Pick<ConsumeOptions, "bytesMax" | "whenFull">,
  partitions: number,
): number {
  const fetchMax = fetchBytesMax({ bytesMax });
  if (whenFull === "hold") return fetchMax;
  return Math.floor(Math.min(fetchMax, Math.max(FETCH_BYTES_MIN, bytesMax / partitions)));
}
