/** The state and the functions that are needed to apply a record. */

import type { AudienceSettings } from "./audience-settings.ts";
import type { Gathering } from "./batch-lookups.ts";
import { type CallMaker, callMaker } from "./identify-call.ts";
import { arrivalsIn, arrivalsRange } from "./keys.ts";
import type { PartitionState } from "./partition-state.ts";
import type { Events, Registry } from "./ports.ts";
import type { Cause } from "./sync-state.ts";

export interface Work {
  readonly state: PartitionState;
  readonly partition: number;
  readonly callsTopic: string;
  readonly settings: (audienceId: string | null) => AudienceSettings;
  readonly registry: Registry;
  readonly events: Events;
  readonly nowMs: () => number;
  readonly gathering: Gathering;
  /** Returns true if nothing may be sent for the user, and counts it. */
  readonly isSuppressed: (userId: string) => boolean;
  /** Writes all pending writes. All records below `position` must have been applied. */
  readonly write: (position: number) => Promise<void>;
  /** Lets other work run. If many writes are pending, writes them first. */
  readonly breathe: (position: number) => Promise<void>;
}

export function refuse(work: Work, { record }: Cause, error: string): void {
  work.state.deadLetter({ record, reason: "invalid-sync", error });
}

/**
 * @param audienceId null for computed traits.
 * @throws Error if there is no source. The caller must have checked this.
 */
export function makerFor(
  { settings, callsTopic: topic }: Work,
  { atMs }: Cause,
  audienceId: string | null,
  trait: string,
): CallMaker {
  const { source, integrations, consent } = settings(audienceId);
  if (source === null) throw new Error(`audience ${audienceId} has no source`);
  return callMaker({ topic, source, integrations, consent, trait, atMs });
}

/**
 * Removes the arrivals of syncs that have ended (`seen-members.ts`). Call this after the ended sync was removed from
 * the audience, so that its entries are removed in the same batch or in a later one.
 */
export async function clearArrivals(
  { state, breathe }: Work,
  position: number,
  first: number,
  open: number | null,
): Promise<void> {
  const { from, to } = arrivalsRange(first);
  for await (const entries of state.store.pieces(from, to)) {
    for (const [key] of entries) {
      if (arrivalsIn(key).begin !== open) state.setLocal(key, null);
    }
    await breathe(position);
  }
}
