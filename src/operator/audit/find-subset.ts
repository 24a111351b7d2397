/** Finds which records a sum is about, among some candidates. */

import { type Identity, Sum } from "../../router/ledger/tallies.ts";

export type Hash = Pick<Identity, "high" | "low">;

/** With more candidates, three of them are not searched. */
const THREE_OF_MAX = 1_500;

/**
 * Returns the candidates whose hashes make up the sum; null if there are none, or if more than three would have to be
 * chosen, or would remain. Another set with the same sum is as unlikely as two messages with the same hash.
 */
export function findSubset<Item extends Hash>(
  candidates: readonly Item[],
  wanted: Sum,
): readonly Item[] | null {
  return finderIn(candidates)(wanted);
}

/** Returns `findSubset` for these candidates. */
function finderIn<Item extends Hash>(
  candidates: readonly Item[],
): (wanted: Sum) => readonly Item[] | null {
  let places: ReadonlyMap<number, number> | null = null;
  const find = (wanted: Sum): readonly Item[] | null => {
    const { count } = wanted;
    if (count === 0) return wanted.isZero ? [] : null;
    if (count < 0 || count > candidates.length) return null;
    if (count > candidates.length - count) {
      const others = sumOf(candidates);
      others.addAll(wanted, -1);
      const left = find(others);
      return left === null ? null : without(candidates, left);
    }
    if (count > 3 || (count === 3 && candidates.length > THREE_OF_MAX)) return null;
    places ??= new Map(candidates.map((each, at) => [keyOf(each.high, each.low), at]));
    return search(candidates, places, 0, count, wanted.high, wanted.low);
  };
  return find;
}

/** Leaves out each item as often as it is in the second list. */
function without<Item>(items: readonly Item[], left: readonly Item[]): readonly Item[] {
  const rest = [...left];
  return items.filter((each) => {
    const at = rest.indexOf(each);
    if (at !== -1) rest.splice(at, 1);
    return at === -1;
  });
}

function search<Item extends Hash>(
  candidates: readonly Item[],
  places: ReadonlyMap<number, number>,
  from: number,
  count: number,
  high: number,
  low: number,
): readonly Item[] | null {
  if (count === 1) {
    const at = places.get(keyOf(high, low));
    const found = at === undefined || at < from ? undefined : candidates[at];
    return found?.high === high && found.low === low ? [found] : null;
  }
  for (let at = from; at < candidates.length; at += 1) {
    const one = candidates[at];
    if (one === undefined) break;
    const [restHigh, restLow] = [(high - one.high) | 0, (low - one.low) | 0];
    const rest = search(candidates, places, at + 1, count - 1, restHigh, restLow);
    if (rest !== null) return [one, ...rest];
  }
  return null;
}

/** Maximum number of steps in which one item is searched together with others that it is subtracted from. */
const STEPS_MAX = 1_000_000;

export interface Difference<Item, Other> {
  readonly plus: readonly Item[];
  readonly minus: readonly Other[];
}

/**
 * Returns items that make up the sum when others are subtracted from them; null if there are none, or more than
 * `findSubset` finds, or several of both.
 */
export function findDifference<Item extends Hash, Other extends Hash>(
  wanted: Sum,
  plus: readonly Item[],
  minus: readonly Other[],
): Difference<Item, Other> | null {
  const opposite = new Sum();
  opposite.addAll(wanted, -1);
  const added = findSubset(plus, wanted);
  if (added !== null) return { plus: added, minus: [] };
  const subtracted = findSubset(minus, opposite);
  if (subtracted !== null) return { plus: [], minus: subtracted };
  const one = findWithOne(minus, plus, wanted);
  if (one !== null) return { plus: one.others, minus: [one.item] };
  const other = findWithOne(plus, minus, opposite);
  return other && { plus: [other.item], minus: other.others };
}

/** Finds one of the items, and some of the others that make up its sum and the wanted one. */
function findWithOne<Item extends Hash, Other extends Hash>(
  items: readonly Item[],
  others: readonly Other[],
  wanted: Sum,
): { readonly item: Item; readonly others: readonly Other[] } | null {
  const steps = items.length * others.length ** Math.max(0, Math.min(2, wanted.count));
  if (steps > STEPS_MAX) return null;
  const find = finderIn(others);
  const sum = new Sum();
  sum.addAll(wanted);
  for (const item of items) {
    sum.add(item);
    const found = find(sum);
    if (found !== null) return { item, others: found };
    sum.remove(item);
  }
  return null;
}

export function sumOf(items: readonly Hash[]): Sum {
  const sum = new Sum();
  for (const each of items) sum.add(each);
  return sum;
}

/** 53 of the 64 bits of a hash, as a key for maps. */
export function keyOf(high: number, low: number): number {
  return (high >>> 0) * 2 ** 21 + (low >>> 11);
}
