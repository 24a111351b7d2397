/** Commits offsets for a group without joining it, which kafkajs' admin cannot do with metadata. */

import { setTimeout as sleep } from "node:timers/promises";
import { request } from "../kafkajs/internals.ts";
import type { CommittedOffset } from "../port.ts";
import type { Brokers } from "./brokers.ts";
import { errorTypes, protocolError } from "./kafka-error.ts";

/** For a committer that is no member. */
const NO_GENERATION = -1;
const NO_MEMBER = "";
const WAIT_MS = 100;
/** The group's coordinator is being found, is loading, or has moved. */
const PASSING = new Set([
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
  "NOT_COORDINATOR_FOR_GROUP",
]);

interface CommitResponse {
  readonly responses: readonly {
    readonly partitions: readonly { readonly errorCode: number }[];
  }[];
}

/** Waits for the coordinator; the caller limits the time. Throws when the group has members. */
export async function commitOffsets(
  brokers: Brokers,
  groupId: string,
  topic: string,
  offsets: readonly CommittedOffset[],
): Promise<void> {
  const partitions = offsets.map((entry) => ({ ...entry, offset: `${entry.offset}` }));
  for (;;) {
    try {
      const { responses } = await request<CommitResponse>(
        await brokers.coordinator(groupId),
        "OffsetCommit",
        {
          groupId,
          groupGenerationId: NO_GENERATION,
          memberId: NO_MEMBER,
          topics: [{ topic, partitions }],
        },
      );
      const failed = responses
        .flatMap((response) => response.partitions)
        .find(({ errorCode }) => errorCode !== 0);
      if (failed === undefined) return;
      throw protocolError(failed.errorCode);
    } catch (error) {
      if (![...errorTypes(error)].some((type) => PASSING.has(type))) throw error;
      await sleep(WAIT_MS);
    }
  }
}
