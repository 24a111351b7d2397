/**
 * Explains a balance: which deliveries are too many, and which are missing. The sum of an explanation is that of the
 * balance, so that nothing else can be true.
 *
 *   too many                                          missing
 *   what is left in the topic (`readSpare`), without  what is lacking (`settle.ts`): all of it; or, if the reader of the
 *   the deliveries of other writers                   topic has processed some that were then deleted, a few of it, or
 *                                                     all but a few
 *   the same, but what has an excuse is not of other  the same
 *   writers
 *   a few of what is left, or all but a few           a few of what is lacking, or all but a few
 *
 * The last one is for records that no longer exist: those from which deliveries were made, or those of other writers.
 */

import type { Sum } from "../../router/ledger/tallies.ts";
import type { Spare } from "./excuses.ts";
import { findDifference, findSubset, sumOf } from "./find-subset.ts";
import type { Input } from "./read-input.ts";

export interface Explanation {
  readonly tooMany: readonly Spare[];
  readonly missing: readonly Input[];
}

/**
 * Null if there is none.
 *
 * @param others the sum of what other writers have written.
 */
export function explain(
  balance: Sum,
  spare: readonly Spare[],
  lacking: readonly Input[],
  others: Sum,
): Explanation | null {
  const tooMany = tooManyOf(spare, others);
  const missing = tooMany && findSubset(lacking, without(tooMany, balance));
  if (tooMany !== null && missing !== null) return { tooMany, missing };
  const few = findDifference(balance, spare, lacking);
  return few && { tooMany: few.plus, missing: few.minus };
}

function tooManyOf(spare: readonly Spare[], others: Sum): readonly Spare[] | null {
  const all = findSubset(spare, without(spare, others));
  if (all !== null) return all;
  const unexcused = spare.filter(({ excuse }) => excuse === null);
  const named = findSubset(unexcused, without(unexcused, others));
  return named && [...spare.filter(({ excuse }) => excuse !== null), ...named];
}

function without(items: readonly Spare[], sum: Sum): Sum {
  const rest = sumOf(items);
  rest.addAll(sum, -1);
  return rest;
}
