/**
 * Takes records that come while a fetch goes on, as those are taken that end one.
 *
 *   the batches                                   then
 *   are of another assignment, or the session     left out; the fetch ends
 *   is not certain
 *   do not begin where reading goes on now        left out; the fetch ends
 *   cannot be handed over whole, or a partition   taken; the fetch ends, and its loop waits for room
 *   is paused or resumed
 *   else                                          taken; the fetch goes on behind them
 */

import type { Member, TakeBatches } from "../membership.ts";
import type { Ownership } from "./ownership.ts";

/** @param isOurs whether the partitions are certainly the member's, as when the fetch began. */
export function takeMore(
  member: Member,
  ownership: Pick<Ownership, "offer" | "hasRoom">,
  isOurs: () => boolean,
): TakeBatches {
  // It is another one while a partition is paused.
  const { pollMs } = member;
  return (batches) => {
    if (!isOurs()) return false;
    ownership.offer(member, batches);
    if (member.pollMs !== pollMs || !ownership.hasRoom()) return false;
    return batches.every(({ topic, partition, last }) => {
      return last !== null && member.positionOf(topic, partition) === last + 1;
    });
  };
}
