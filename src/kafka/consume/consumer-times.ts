/**
 * Computes how often a consumer polls and sends heartbeats, and how much it fetches.
 *
 *   setting               value                                 because
 *   poll                  12 s; 5 to 15 min in a shared         each poll costs CPU; a change ends a poll early
 *                         session (`member-fetches.ts`)
 *   poll while paused     250 ms                                a resumed partition is read with the next poll
 *   heartbeat             a quarter of the session timeout      two may be lost
 *   ... while it fetches  5 s, at most half the session         many members send them together: a
 *                         timeout (`group-watch.ts`)            thousand send 200 a second
 *   rebalance timeout     a minute, or more if a drain may      a member that joins too late is removed
 *                         take longer
 *   bytes of a fetch      a quarter of `maxBytes`, between      bytes are in memory before they are counted
 *                         64 KiB and 1 MiB
 *   ... of one            with `pause` its share of             a paused partition keeps its fetched records;
 *   partition             `maxBytes`, at least 64 KiB           a larger batch is returned whole (KIP-74)
 */

import type { ConsumeOptions } from "../port.ts";

const POLL_MS = 12_000;
const IDLE_HEARTBEAT_MAX_MS = 5_000;
const REBALANCE_MIN_MS = 60_000;
const FETCH_MIN_BYTES = 64 * 1024;
const FETCH_MAX_BYTES = 1024 * 1024;

/** Time limit of the commit that follows a drain. */
export const COMMIT_LIMIT_MS = 5_000;
/** Time limit of that commit before a join, while the coordinator is unreachable. Far below the rebalance timeout. */
export const COMMIT_OUTAGE_LIMIT_MS = 20_000;
export const POLL_PAUSED_MS = 250;

export interface ConsumerTimes {
  readonly pollMs: number;
  readonly heartbeatMs: number;
  /** Interval while the member fetches. */
  readonly idleHeartbeatMs: number;
  readonly rebalanceTimeoutMs: number;
}

export function idleHeartbeatMs(sessionTimeoutMs: number): number {
  return Math.min(IDLE_HEARTBEAT_MAX_MS, Math.floor(sessionTimeoutMs / 2));
}

export function consumerTimes(sessionTimeoutMs: number, drainLimitMs: number): ConsumerTimes {
  const heartbeatMs = Math.floor(sessionTimeoutMs / 4);
  return {
    pollMs: POLL_MS,
    heartbeatMs,
    idleHeartbeatMs: idleHeartbeatMs(sessionTimeoutMs),
    rebalanceTimeoutMs: Math.max(
      REBALANCE_MIN_MS,
      drainLimitMs + COMMIT_LIMIT_MS + 2 * idleHeartbeatMs(sessionTimeoutMs),
    ),
  };
}

export function fetchMaxBytes({ maxBytes }: Pick<ConsumeOptions, "maxBytes">): number {
  return Math.floor(Math.min(FETCH_MAX_BYTES, Math.max(FETCH_MIN_BYTES, maxBytes / 4)));
}

/** The limit for one partition of several. */
export function partitionFetchMaxBytes(
  { maxBytes, whenFull }: Pick<ConsumeOptions, "maxBytes" | "whenFull">,
  partitions: number,
): number {
  const fetchMax = fetchMaxBytes({ maxBytes });
  if (whenFull === "hold") return fetchMax;
  return Math.floor(Math.min(fetchMax, Math.max(FETCH_MIN_BYTES, maxBytes / partitions)));
}
