/**
 * Reads which deliveries are left when those that were made of the writer's input are taken away from the content, and
 * excuses those that the ledger cannot have.
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
import { type Books, type Interval, writerOf } from "./books.ts";
import { type Balance, isWrittenBy } from "./hops.ts";
import { type Content, type Copy, eachCopy } from "./read-content.ts";
import type { AuditSource, Window } from "./read-window.ts";

/** When an owner crashes, a record may have been written this long before the last ledger record. */
const CRASH_MARGIN_MS = 5_000;
/**
 * An owner that was removed from its group, such as one that was frozen, may still end its attempts this long after the
 * next one has begun.
 */
const LATE_MARGIN_MS = 30_000;

export type Excuse = "repeated" | "pending";

const EXCUSES: readonly (Excuse | null)[] = ["repeated", "pending", null];

/** A delivery for which the writer's input does not account. */
export interface Spare extends Copy {
  /** True if the writer's input has its message ID. */
  readonly isKnown: boolean;
  readonly excuse: Excuse | null;
}

/** If only some of the same deliveries are too many, they are those with an excuse, and then those that were written last. */
export async function readSpare(
  source: AuditSource,
  window: Window,
  balance: Balance,
  { byKey }: Content,
  excuse: (copy: Copy) => Excuse | null,
): Promise<readonly Spare[]> {
  if ([...byKey.values()].every(({ times, taken }) => times.length === taken)) return [];
  const found = new Map<number, Spare[]>();
  await eachCopy(source, window, balance, (copy) => {
    const { times, taken } = byKey.get(copy.key) ?? { times: [], taken: 0 };
    if (times.length === taken) return;
    const spare = { ...copy, isKnown: taken > 0, excuse: excuse(copy) };
    found.set(copy.key, [...(found.get(copy.key) ?? []), spare]);
  });
  return [...found].flatMap(([key, copies]) => {
    const number = copies.length - (byKey.get(key)?.taken ?? 0);
    const rank = ({ excuse }: Spare) => EXCUSES.indexOf(excuse);
    return copies
      .toSorted((one, other) => rank(one) - rank(other) || other.atMs - one.atMs)
      .slice(0, number);
  });
}

/**
 * Returns the excuse of a delivery that is too many; null if there is none.
 *
 * @param isAtChange see `changesOf`.
 * @param open the keys of input that is not in the ledger.
 */
export function excuseOf(
  { key, atMs, isNew, isDeletion }: Copy,
  isAtChange: (atMs: number) => boolean,
  { hasOpenDeletions }: Pick<Window, "hasOpenDeletions">,
  open: ReadonlySet<number> | undefined,
): Excuse | null {
  if (isAtChange(atMs)) return "repeated";
  const isPending = isNew || (isDeletion && hasOpenDeletions) || open?.has(key) === true;
  return isPending ? "pending" : null;
}

/** Returns whether, at a time, a partition or replay from which the hop is written was changing its owner. */
export function changesOf(
  groups: GroupNames,
  books: Pick<Books, "changes">,
  { hop, destination }: Pick<Balance, "hop" | "destination">,
): (atMs: number) => boolean {
  const isWriter = (group: string) => {
    const writer = writerOf(group, groups);
    if (writer === null || !isWrittenBy(hop, writer)) return false;
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
