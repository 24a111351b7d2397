/**
 * Counts the deliveries that expire before a given time, in all partitions of delay topics, independently of the
 * stage. The count is needed about once per incident, so it may read several hundred thousand records.
 */

import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import {
  type AskedWaiting,
  eachWaiting,
  isWhole,
  type WaitingDeps,
} from "./scan-awaiting-retry.ts";

const LIMIT_MS = 5_000;
const RECORDS_MAX = 500_000;

export interface Expiring {
  readonly deliveries: number;
  /** `true` if not all records were read, so that there may be more deliveries than were counted. */
  readonly isLowerBound: boolean;
}

export interface Windows
  extends Pick<AskedWaiting, "delays" | "topics" | "groups" | "operatorActions"> {
  /** Measured from the first attempt. */
  readonly retryWindowMs: number;
}

/** Returns the counts by destination. Destinations with a count of 0 are omitted. */
export async function countExpiring(
  deps: WaitingDeps,
  { retryWindowMs, ...where }: Windows,
  destinations: ReadonlySet<string>,
  beforeMs: number,
  ended: AbortSignal,
): Promise<ReadonlyMap<string, Expiring>> {
  const counts = new Map<string, number>();
  using late = hearingLimit(LIMIT_MS);
  const signal = AbortSignal.any([ended, late.signal]);
  const asked: AskedWaiting = { ...where, recordsMax: RECORDS_MAX, signal };
  const read = await eachWaiting(deps, asked, (waiting) => {
    if (waiting.kind === "invalid" || !destinations.has(waiting.destination)) return;
    const { destination, firstAttemptAtMs } = waiting;
    if (firstAttemptAtMs === null || firstAttemptAtMs + retryWindowMs > beforeMs) return;
    counts.set(destination, (counts.get(destination) ?? 0) + 1);
  });
  const isLowerBound = !isWhole(read);
  const reported = [...counts].map(
    ([destination, deliveries]) => [destination, { deliveries, isLowerBound }] as const,
  );
  return new Map(reported);
}
