/**
 * Requests to a group's coordinator, which moves to another broker whenever the leader of its
 * partition does: at each restart of a broker, at an election.
 *
 *   the coordinator                        kafkajs                              here
 *   answers                                that is it                           the same
 *   says that it is another broker         asks the same one until the session  asks who it is now, and
 *   cannot be reached                      is over; then joins as a new member  asks that one
 *   is loading the group                   the same                             asks it again
 *
 * Members keep their partitions when their coordinator moves. Without this all members of the group
 * lost them, together with everything that was finished and could not be committed any more.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { CoordinatedGroup } from "./consumer-group.ts";
import { DRIVER_OUTAGE } from "./error-names.ts";

/** The new coordinator is known within a second or two, when the old one has handed over in good order. */
const WAITS_MS = [0, 100, 300, 600, 1_000];
const ELSEWHERE: ReadonlySet<string> = new Set([
  "NOT_COORDINATOR_FOR_GROUP",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
]);
const UNREACHABLE: ReadonlySet<string> = new Set(DRIVER_OUTAGE);

/** One look for each group at a time. */
const lookups = new WeakMap<CoordinatedGroup, Promise<void>>();

/** @param send may be called several times: what it asks for must do no harm when it is done twice. */
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
