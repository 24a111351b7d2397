/** Removes the arrivals of syncs that have ended (`seen-members.ts`). */

import { arrivalsIn, arrivalsRange } from "./keys.ts";
import type { Work } from "./work.ts";

/**
 * Removes all entries except those of the open sync. Call this after the ended sync was removed from the audience,
 * so that its entries are removed in the same batch or in a later one.
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
