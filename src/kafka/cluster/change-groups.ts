/** Changes groups without joining them. The admin session repeats a call while a group has no coordinator. */

import { type Broker, request } from "../kafkajs/internals.ts";
import type { CommittedOffset } from "../port.ts";
import type { Brokers } from "./brokers.ts";
import { protocolError } from "./kafka-error.ts";

/** The generation of a commit by a process that is not a member. */
const NO_GENERATION = -1;
const NO_MEMBER = "";
/** GROUP_ID_NOT_FOUND. */
const NO_GROUP = 69;

interface CommitResponse {
  readonly responses: readonly {
    readonly partitions: readonly { readonly errorCode: number }[];
  }[];
}

/** @throws if the group has members. */
export async function commitOffsets(
  brokers: Brokers,
  groupId: string,
  topic: string,
  offsets: readonly CommittedOffset[],
): Promise<void> {
  const partitions = offsets.map((entry) => ({ ...entry, offset: `${entry.offset}` }));
  const topics = [{ topic, partitions }];
  const commit = { groupId, groupGenerationId: NO_GENERATION, memberId: NO_MEMBER, topics };
  await atCoordinator(brokers, groupId, async (coordinator) => {
    const { responses } = await request<CommitResponse>(coordinator, "OffsetCommit", commit);
    return responses.flatMap((response) => response.partitions);
  });
}

/** Does nothing if the group does not exist. @throws if the group has members. */
export async function deleteGroup(brokers: Brokers, groupId: string): Promise<void> {
  await atCoordinator(brokers, groupId, async (coordinator) => {
    const { results } = await request<{
      readonly results: readonly { readonly errorCode: number }[];
    }>(coordinator, "DeleteGroups", [groupId]);
    return results.filter(({ errorCode }) => errorCode !== NO_GROUP);
  });
}

/** @param send returns the results with their error codes. */
async function atCoordinator(
  brokers: Brokers,
  groupId: string,
  send: (coordinator: Broker) => Promise<readonly { readonly errorCode: number }[]>,
): Promise<void> {
  const results = await send(await brokers.coordinator(groupId));
  const failed = results.find(({ errorCode }) => errorCode !== 0);
  if (failed !== undefined) throw protocolError(failed.errorCode);
}
