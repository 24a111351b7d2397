/**
 * Counts the deliveries that expire before an instant, over all partitions of delay topics, from
 * outside. It is asked for once in an incident, so it may read some hundred thousand records.
 */

import { hasLeft, type Steering } from "../domain/steering.ts";
import { type AskedOfSome, eachWaiting } from "./each-waiting.ts";
import type { WaitingDeps } from "./waiting-by-destination.ts";

const LIMIT_MS = 5_000;
const RECORDS_MAX = 500_000;

export interface Expiring {
  readonly deliveries: number;
  /** Not all that waits was read: there are at least so many. */
  readonly isLeast: boolean;
}

export interface Windows extends Pick<AskedOfSome, "tiers" | "topics" | "groups"> {
  /** From the first attempt. */
  readonly windowMs: number;
  readonly steering: Pick<Steering, "pullsOf" | "pulledThrough">;
}

/** By destination; one of which none expires by then is not in it. */
export async function countExpiring(
  deps: WaitingDeps,
  { windowMs, steering, ...where }: Windows,
  destinations: ReadonlySet<string>,
  beforeMs: number,
  ended: AbortSignal,
): Promise<ReadonlyMap<string, Expiring>> {
  const counts = new Map<string, number>();
  const signal = AbortSignal.any([ended, AbortSignal.timeout(LIMIT_MS)]);
  const asked: AskedOfSome = {
    ...where,
    destinations,
    operations: {
      hasLeft: (tier, partition, offset, record) =>
        hasLeft(steering, { tier, partition, offset }, record),
    },
    recordsMax: RECORDS_MAX,
    signal,
  };
  const isWhole = await eachWaiting(deps, asked, ({ destination, firstAttemptAtMs }) => {
    if (firstAttemptAtMs === null || firstAttemptAtMs + windowMs > beforeMs) return;
    counts.set(destination, (counts.get(destination) ?? 0) + 1);
  });
  const told = [...counts].map(
    ([destination, deliveries]) => [destination, { deliveries, isLeast: !isWhole }] as const,
  );
  return new Map(told);
}
