/**
 * Reads the deliveries of some destinations that wait in delay topics, from outside, when no process
 * is asked. It reads what the groups have not committed, of all destinations, and keeps no record.
 *
 *   it                                       then
 *   comes to all ends                        all were found
 *   has read the records that are allowed,   it stops: more may wait
 *   or the signal aborts
 *   meets a damaged batch, or another error  throws
 */

import type { KnownOperations } from "../domain/steering.ts";
import { tierDelayMs } from "../domain/topics.ts";
import { readWaiting, type Waiting } from "./due.ts";
import { pullable } from "./pulled-ahead.ts";
import { type Asked, partsOf, type WaitingDeps } from "./waiting-by-destination.ts";

const STEP_BYTES = 1_048_576;

export interface AskedOfSome extends Omit<Asked, "destinations"> {
  readonly destinations: ReadonlySet<string>;
  readonly operations: Pick<KnownOperations, "hasLeft">;
}

export type Delivered = Extract<Waiting, { kind: "waiting" }>;

/** Whether all of it was read. @param found is called for each delivery. */
export async function eachWaiting(
  { kafka, clock }: WaitingDeps,
  asked: AskedOfSome,
  found: (waiting: Delivered, tier: string) => void,
): Promise<boolean> {
  const { topics, groups, destinations, operations, signal } = asked;
  let left = asked.recordsMax;
  const ofTier = async (tier: string) => {
    const delayMs = tierDelayMs(tier) ?? 0;
    for (const part of await partsOf(kafka, groups.delay(tier), topics.delays(delayMs))) {
      for await (const records of kafka.read({ ...part, maxBytes: STEP_BYTES, signal })) {
        for (const record of records) {
          const waiting = readWaiting(record, topics, delayMs, clock.nowMs());
          if (waiting.kind !== "waiting" || !destinations.has(waiting.destination)) continue;
          const { partition, offset } = record;
          const hasLeft = operations.hasLeft(tier, partition, offset, pullable(waiting));
          if (!hasLeft) found(waiting, tier);
        }
        left -= records.length;
        if (left <= 0) return;
      }
    }
  };
  await Promise.all(asked.tiers.map(ofTier));
  return left > 0 && !signal.aborted;
}
