/**
 * Finds the deliveries that are missing, among the input of the writer that the topic does not contain.
 *
 *   the topic does not contain          then
 *   what is missing                     each group of ledger records has the sum of its part
 *   more, because records were deleted  the sum of all that is missing follows from the balance. Up to three are found,
 *     after they had been processed,    and more are counted
 *     or the topic was recreated
 *   as many more as were too many,      the number is that of what is missing or too many, at least: one of each if their
 *     which were deleted, too           numbers are the same, and their sums are not
 *
 * If the input of the writer was deleted, or the topic does not have the deliveries of other writers any more, its content
 * cannot be told from what is too many. Then, the balance alone shows which few are missing and too many.
 */

import { Sum } from "../../router/ledger/tallies.ts";
import { findSubset, type Hash } from "./find-subset.ts";

/** A group of ledger records: the sum of what the topic does not contain of it, and its input without this. */
export interface Absent<Item extends Hash> {
  readonly rest: Sum;
  readonly candidates: readonly Item[];
}

export interface Missing<Item> {
  readonly missing: readonly Item[];
  /** The number of those that cannot be told from others. */
  readonly unnamed: number;
}

/** @param sum that of all that is missing; null if it is unknown. */
export function findMissing<Item extends Hash>(
  all: readonly Absent<Item>[],
  sum: Sum | null,
): Missing<Item> {
  const isMore = sum !== null && !isSumOf(all, sum);
  const candidates = all.flatMap((each) => each.candidates);
  const parts = isMore ? [{ rest: sum, candidates }] : all;
  const missing: Item[] = [];
  let unnamed = 0;
  for (const { rest, candidates } of parts) {
    const found = findSubset(candidates, rest);
    if (found === null && isMore) unnamed += rest.count === 0 ? 2 : Math.abs(rest.count);
    else if (found === null) unnamed += Math.max(0, rest.count);
    for (const each of found ?? []) missing.push(each);
  }
  return { missing, unnamed };
}

function isSumOf(all: readonly Absent<Hash>[], sum: Sum): boolean {
  const left = new Sum();
  left.addAll(sum);
  for (const { rest } of all) left.addAll(rest, -1);
  return left.isZero;
}
