/**
 * Commits offsets in a group that has members. The coordinator accepts a commit only from a member, whichever partitions
 * that member has. So this process joins without topics, commits, and leaves; both cause a rebalance.
 *
 *   step                                       if the process crashes after it
 *   1  join: all members drain and commit      the group waits until this member's session expires
 *   2  sync: all members continue from their   the same
 *      commits
 *   3  commit                                  the same; the offset applies from the next rebalance on
 *   4  leave: all members join again, and      nothing is left to do
 *      continue from the new commit
 */

import { Signal } from "../../base/runtime/signal.ts";
import type { OffsetToCommit } from "../membership.ts";
import { encodeSubscription } from "./assignment.ts";
import { Coordinator } from "./coordinator.ts";
import type { GroupWorld } from "./member.ts";

const SESSION_TIMEOUT_MS = 30_000;

/** Makes one attempt. Rejects if the group rebalances meanwhile. */
export async function commitAsMember(
  { leaders, connections }: Pick<GroupWorld, "leaders" | "connections">,
  groupId: string,
  offsets: readonly OffsetToCommit[],
  signal: AbortSignal,
): Promise<void> {
  const { brokers } = leaders;
  const coordinator = new Coordinator({
    groupId,
    brokers,
    connections,
    signal,
    wake: new Signal(),
  });
  let memberId = "";
  try {
    const joined = await coordinator.join({
      memberId,
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      rebalanceTimeoutMs: 2 * SESSION_TIMEOUT_MS,
      subscription: encodeSubscription([]),
      onMemberId: (given) => {
        memberId = given;
      },
    });
    ({ memberId } = joined);
    // If this member leads the group, nobody gets partitions until it leaves.
    await coordinator.sync(joined, []);
    await coordinator.commit(joined, offsets);
  } finally {
    await coordinator.leave(memberId);
  }
}
