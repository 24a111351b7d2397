/** Removes what a sync that is over has left of its arrivals (`seen-members.ts`). */

import { arrivalsIn, arrivalsRange } from "./keys.ts";
import type { Work } from "./work.ts";

/**
 * Entries of an open sync stay. Called after the audience was set without the sync that is over: so
 * they are removed in the batch that says so, or behind it.
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
