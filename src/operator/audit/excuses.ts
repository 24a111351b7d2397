/**
 * Excuses deliveries that are too many, because the ledger cannot have them.
 *
 *   a delivery was written                                    is
 *   when the input changed its owner, or a replay crashed     repeated: the writer had not written it to the ledger
 *                                                             yet, as at every crash
 *   since the audit began to read the ledger                  pending: the writer may not have written it to the
 *   before that, but its input is not in the ledger           ledger yet
 *   for a deletion, and some requests are not in the ledger
 */

import type { DestinationId } from "../../domain/ids.ts";
import type { GroupNames } from "../../domain/topics.ts";
import { type Books, type Interval, type Writer, writerOf } from "./books.ts";
import type { Balance, HopName } from "./hops.ts";
import type { Content, Spare } from "./read-content.ts";
import type { Window } from "./read-window.ts";

/** When an owner crashes, a record may have been written this long before the last ledger record. */
const CRASH_MARGIN_MS = 5_000;
/**
 * An owner that was removed from its group, such as one that was frozen, may still end its attempts this long after the
 * next one has begun.
 */
const LATE_MARGIN_MS = 30_000;

/** Those that write to the topics of a hop, also when they reroute deliveries. */
const WRITERS: Readonly<Record<HopName, readonly Writer[]>> = {
  queue: ["route", "deletion", "replay", "delay"],
  delay: ["deliver", "route", "deletion", "delay"],
  retry: ["delay", "replay"],
};

/** For each delivery, how often it was written while the owner changed, and how often its writer may not be done. */
export type Excuses = ReadonlyMap<number, { readonly repeated: number; readonly pending: number }>;

/** @param open the keys of input that is not in the ledger. */
export function excusesOf(
  spare: readonly Spare[],
  groups: GroupNames,
  { books, hasOpenDeletions }: Window,
  balance: Balance,
  open: ReadonlySet<number> | undefined,
): Excuses {
  const isAtChange = changesOf(groups, books, balance);
  return new Map(
    spare.map(({ key, all }) => {
      const repeated = all.filter(({ atMs }) => isAtChange(atMs)).length;
      const isPending = ({ isNew, isDeletion }: Content) => {
        return isNew || (isDeletion && hasOpenDeletions);
      };
      const pending = open?.has(key) === true ? all : all.filter(isPending);
      return [key, { repeated, pending: pending.length }];
    }),
  );
}

/** Divides deliveries into those that were repeated, those that may be in the ledger later, and the others. */
export function withExcuse(all: readonly Spare[], excuses: Excuses) {
  const left = new Map(excuses);
  const repeated: Spare[] = [];
  const pending: Spare[] = [];
  const named: Spare[] = [];
  for (const each of all) {
    const times = left.get(each.key) ?? { repeated: 0, pending: 0 };
    if (times.repeated > 0) {
      left.set(each.key, { ...times, repeated: times.repeated - 1 });
      repeated.push(each);
    } else if (times.pending > 0) {
      left.set(each.key, { ...times, pending: times.pending - 1 });
      pending.push(each);
    } else named.push(each);
  }
  return { repeated, pending, named };
}

/** Returns whether, at a time, a partition or replay from which the hop is written was changing its owner. */
export function changesOf(
  groups: GroupNames,
  books: Books,
  { hop, destination }: Balance,
): (atMs: number) => boolean {
  const isWriter = (group: string) => {
    const writer = writerOf(group, groups);
    if (writer === null || !WRITERS[hop.name].includes(writer)) return false;
    return writer !== "deliver" || group === groups.deliver(destination as DestinationId);
  };
  const changes = books
    .changes()
    .filter(({ group }) => isWriter(group))
    .map(({ fromMs, toMs, isCrash }): Interval => {
      if (!isCrash) return { fromMs, toMs };
      return { fromMs: fromMs - CRASH_MARGIN_MS, toMs: toMs + LATE_MARGIN_MS };
    });
  return (atMs) => changes.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);
}
