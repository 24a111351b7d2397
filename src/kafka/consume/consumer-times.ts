/**
 * Computes how often a consumer sends heartbeats, and how much it fetches.
 *
 *   setting               value                                 because
 *   heartbeat             5 s, at most half the session         many members send them together: a
 *                         timeout (`group/group-watch.ts`)      thousand are 200 a second
 *   ... with more than    2 ms per group, at most a third of    500 a second, which each cost the process
 *   2,500 groups          the session timeout                   and a broker
 *   ... while it drains   a quarter of the session timeout      two may be lost
 *   rebalance timeout     a minute, or more if a drain may      a member that joins too late is removed
 *                         take longer
 *   bytes of a fetch      a quarter of `maxBytes`, between      bytes are in memory before they are counted
 *                         64 KiB and 512 KiB
 *   ... of one            its share of that, at least 64 KiB    each partition keeps what is fetched and not
 *   partition                                                   passed on; a larger batch is returned whole
 */

import type { ConsumeOptions } from "../port.ts";

const IDLE_HEARTBEAT_MS = 5_000;
const IDLE_HEARTBEAT_PER_GROUP_MS = 2;
const REBALANCE_MIN_MS = 60_000;
const FETCH_MIN_BYTES = 64 * 1024;
const FETCH_MAX_BYTES = 512 * 1024;

/** Time limit of the commit that follows a drain. */
export const COMMIT_LIMIT_MS = 5_000;
/** Time limit of that commit before a join, while the coordinator is unreachable. Far below the rebalance timeout. */
export const COMMIT_OUTAGE_LIMIT_MS = 20_000;

export interface ConsumerTimes {
  /** Interval while partitions are drained. */
  readonly heartbeatMs: number;
  readonly rebalanceTimeoutMs: number;
}

/** @param groups the number of groups in which this process is a member. */
export function idleHeartbeatMs(sessionTimeoutMs: number, groups: number): number {
  const inTurnMs = Math.min(groups * IDLE_HEARTBEAT_PER_GROUP_MS, sessionTimeoutMs / 3);
  return Math.floor(Math.min(Math.max(IDLE_HEARTBEAT_MS, inTurnMs), sessionTimeoutMs / 2));
}

export function consumerTimes(sessionTimeoutMs: number, drainLimitMs: number): ConsumerTimes {
  return {
    heartbeatMs: Math.floor(sessionTimeoutMs / 4),
    rebalanceTimeoutMs: Math.max(
      REBALANCE_MIN_MS,
      drainLimitMs +
        COMMIT_LIMIT_MS +
        2 * idleHeartbeatMs(sessionTimeoutMs, Number.POSITIVE_INFINITY),
    ),
  };
}

/** Maximum bytes of each partition in a response for several partitions. */
export function partitionFetchMaxBytes(
  { maxBytes }: Pick<ConsumeOptions, "maxBytes">,
  partitions: number,
): number {
  const fetchMax = Math.min(FETCH_MAX_BYTES, Math.max(FETCH_MIN_BYTES, maxBytes / 4));
  return Math.floor(Math.max(FETCH_MIN_BYTES, fetchMax / Math.max(1, partitions)));
}
