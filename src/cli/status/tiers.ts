/**
 * Deliveries that wait in delay topics, by destination, counted in Kafka. Where there are too many to
 * be read in front of somebody who waits, the processes that run delay know.
 */

import { waitingByDestination } from "../../delay/waiting-by-destination.ts";
import type { GroupNames, TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";

export interface InTiers {
  /** Deliveries by tier. */
  readonly byTier: Readonly<Record<string, number>>;
  readonly nextDueAtMs: number | null;
}

const RECORDS_MAX = 20_000;
const LIMIT_MS = 1_500;

export interface Counted {
  readonly kafka: Kafka;
  /** Their topics exist. */
  readonly tiers: readonly string[];
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly destinations: readonly string[];
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** By destination; one that is not there has none. Null: not all could be read. */
export async function countTiers(asked: Counted): Promise<ReadonlyMap<string, InTiers> | null> {
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(LIMIT_MS)]);
  const clock = { nowMs: () => asked.nowMs };
  const limits = { recordsMax: RECORDS_MAX, signal };
  const found = await waitingByDestination({ kafka: asked.kafka, clock }, { ...asked, ...limits });
  if (found.some(({ unread }) => unread > 0)) return null;
  const all = new Map<string, { byTier: Record<string, number>; nextDueAtMs: number | null }>();
  for (const { tier, destinations } of found) {
    for (const [id, { count, dueAtMs }] of destinations) {
      const of = all.get(id) ?? { byTier: {}, nextDueAtMs: null };
      of.byTier[tier] = count;
      const nextMs = Math.min(of.nextDueAtMs ?? Number.POSITIVE_INFINITY, dueAtMs);
      of.nextDueAtMs = Number.isFinite(nextMs) ? nextMs : null;
      all.set(id, of);
    }
  }
  return all;
}
