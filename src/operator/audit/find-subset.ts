/**
 * Finds which records a sum is about. Others with the same sum are as unlikely as two messages with the same hash.
 *
 *   the sum is that of                             minus that of
 *   a few of the first records, or all but a few   a few of the second records, or all but a few
 *
 * Both together must be few, so that not too many have to be tried.
 */

import { type Identity, Sum } from "../../router/ledger/tallies.ts";

export type Hash = Pick<Identity, "high" | "low">;

/** Maximum number of sums that are tried, as those of three among 1,500 records, or of four among 130. */
const STEPS_MAX = 1_500 ** 2;

export interface Difference<Item, Other> {
  readonly plus: readonly Item[];
  readonly minus: readonly Other[];
}

/** Null if nothing is found. */
export function findSubset<Item extends Hash>(
  candidates: readonly Item[],
  wanted: Sum,
): readonly Item[] | null {
  return findDifference(wanted, candidates, [])?.plus ?? null;
}

/** Null if nothing is found. */
export function findDifference<Item extends Hash, Other extends Hash>(
  wanted: Sum,
  plus: readonly Item[],
  minus: readonly Other[],
): Difference<Item, Other> | null {
  for (const isAllPlus of plus.length === 0 ? [false] : [false, true]) {
    for (const isAllMinus of minus.length === 0 ? [false] : [false, true]) {
      const rest = new Sum();
      rest.addAll(wanted);
      if (isAllPlus) rest.addAll(sumOf(plus), -1);
      if (isAllMinus) rest.addAll(sumOf(minus));
      const few = findFew(rest, [
        [plus, isAllPlus ? -1 : 1],
        [minus, isAllMinus ? 1 : -1],
      ]);
      if (few === null) continue;
      return {
        plus: plus.filter((_, at) => few.has(at) !== isAllPlus),
        minus: minus.filter((_, at) => few.has(plus.length + at) !== isAllMinus),
      };
    }
  }
  return null;
}

type Side = readonly [items: readonly Hash[], sign: 1 | -1];

/** Returns the indexes of a few items that make up the sum, in both lists together. */
function findFew(wanted: Sum, sides: readonly [Side, Side]): ReadonlySet<number> | null {
  if (wanted.isZero) return new Set();
  const among = sides[0][0].length + sides[1][0].length;
  const isFew = (count: number) => count <= among && among ** (count - 1) <= STEPS_MAX;
  const least = Math.abs(wanted.count) || 2;
  if (!isFew(least)) return null;
  const items = sides.flatMap(([some, sign]) =>
    some.map(({ high, low }) => ({ sign, high: (sign * high) | 0, low: (sign * low) | 0 })),
  );
  const added = items.filter(({ sign }) => sign === 1).length;
  const places = new Map(items.map((each, at) => [keyOf(each.high, each.low), at]));
  for (let count = least; isFew(count); count += 2) {
    const [plus, minus] = [(count + wanted.count) / 2, (count - wanted.count) / 2];
    if (plus > added || minus > among - added) continue;
    const found = search(items, places, 0, count, wanted.high, wanted.low);
    if (found !== null) return new Set(found);
  }
  return null;
}

function search(
  items: readonly Hash[],
  places: ReadonlyMap<number, number>,
  from: number,
  count: number,
  high: number,
  low: number,
): readonly number[] | null {
  if (count === 1) {
    const at = places.get(keyOf(high, low));
    if (at === undefined || at < from) return null;
    return items[at]?.high === high && items[at].low === low ? [at] : null;
  }
  for (let at = from; at < items.length; at += 1) {
    const one = items[at];
    if (one === undefined) break;
    const [restHigh, restLow] = [(high - one.high) | 0, (low - one.low) | 0];
    const rest = search(items, places, at + 1, count - 1, restHigh, restLow);
    if (rest !== null) return [at, ...rest];
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
