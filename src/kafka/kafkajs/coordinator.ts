/**
 * Sends requests to a group's coordinator. The coordinator of a group is the leader of a certain partition, so it moves
 * to another broker when that leader changes, for example when a broker restarts.
 *
 *   the coordinator                        kafkajs                              here
 *   responds                               returns the response                 the same
 *   responds that it is another broker     repeats the request until the        finds the new coordinator
 *   is unreachable                         session is over; then joins as a     and sends the request to it
 *                                          new member
 *   is loading the group                   the same                             sends the request again
 *
 * With this code, members keep their partitions when their coordinator moves. Without it, all members of the group
 * would lose their partitions, and everything that was processed but not committed yet would be repeated.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { CoordinatedGroup } from "./consumer-group.ts";
import { DRIVER_OUTAGE } from "./error-names.ts";

/** After a regular handover, brokers can name the new coordinator within a second or two. */
const WAITS_MS = [0, 100, 300, 600, 1_000];
const ELSEWHERE: ReadonlySet<string> = new Set([
  "NOT_COORDINATOR_FOR_GROUP",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
]);
const UNREACHABLE: ReadonlySet<string> = new Set(DRIVER_OUTAGE);

/** The lookups in progress: at most one for each group. */
const lookups = new WeakMap<CoordinatedGroup, Promise<void>>();

/** @param send may be called several times, so its request must be idempotent. */
export async function atCoordinator(
  group: CoordinatedGroup,
  send: () => Promise<void>,
  waitsMs: readonly number[] = WAITS_MS,
): Promise<void> {
  for (const waitMs of waitsMs) {
    try {
      await send();
      return;
    } catch (error) {
      if (!isElsewhere(error)) throw error;
    }
    if (waitMs > 0) await sleep(waitMs);
    await findCoordinator(group);
  }
  await send();
}

function findCoordinator(group: CoordinatedGroup): Promise<void> {
  const inFlight = lookups.get(group);
  if (inFlight !== undefined) return inFlight;
  const lookup = (async () => {
    try {
      const { groupId } = group;
      const coordinator = await group.cluster.findGroupCoordinator({ groupId });
      group.coordinator = coordinator;
      if (group.offsetManager !== null) group.offsetManager.coordinator = coordinator;
    } finally {
      lookups.delete(group);
    }
  })();
  lookups.set(group, lookup);
  return lookup;
}

function isElsewhere(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const type = "type" in error ? `${error.type}` : "";
  return ELSEWHERE.has(type) || UNREACHABLE.has(error.name);
}
