/** Converts a store to the one that a program with checkpoint version 1 would have created from the same records. */

import { type Audience, readCounts } from "../../../src/audience/audience.ts";
import { arrivalsIn, CHECKPOINT_KEY, firstOf } from "../../../src/audience/keys.ts";
import { hasArrived, readMembership, writeMembership } from "../../../src/audience/membership.ts";
import { ArrivalRoom, Arrivals } from "../../../src/audience/seen-members.ts";
import { MemoryStore } from "./memory-stores.ts";

/** Each arrival becomes a mark in the member's own value, and members have no numbers. */
export async function formerStore(store: MemoryStore): Promise<MemoryStore> {
  const entries = store.entries();
  const arrivals = new Map<number, Arrivals>();
  const numberings = new Map<number, number>();
  for (const [key, value] of entries) {
    if (key.startsWith("a/")) {
      const { first, open } = JSON.parse(value) as Audience;
      if (open !== null) arrivals.set(first, new Arrivals(open.begin, new ArrivalRoom()));
    }
    if (key.startsWith("n")) numberings.set(firstOf(key), readCounts(value).numbering);
  }
  for (const [key, text] of entries) {
    if (!key.startsWith("b")) continue;
    const { first, begin, entry: at } = arrivalsIn(key);
    const known = arrivals.get(first);
    if (known?.begin === begin) known.read({ at, text });
  }
  const former = new MemoryStore();
  for (const [key, value] of entries) {
    if (!key.startsWith("b")) await former.write([[key, formerValue(key, value)]]);
  }
  return former;

  function formerValue(key: string, value: string): string | null {
    if (key === CHECKPOINT_KEY) return JSON.stringify({ ...JSON.parse(value), version: 1 });
    if (key.startsWith("n")) {
      const { numbering: _, next: __, ...counts } = readCounts(value);
      return JSON.stringify(counts);
    }
    if (!key.startsWith("m")) return value;
    const first = firstOf(key);
    const now = readMembership(value, numberings.get(first) ?? -1);
    const sync = arrivals.get(first);
    const mark = sync !== undefined && hasArrived(now, sync) ? sync.begin : now.mark;
    return writeMembership({ ...now, mark, number: -1 });
  }
}
