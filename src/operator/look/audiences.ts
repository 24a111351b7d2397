/** Reads the names and members of audiences from Kafka. */

import { systemClock } from "../../base/runtime/clock.ts";
import { table } from "../../base/words/table.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { readChangelog } from "../../router/audience/changelog.ts";
import { type Claimed, Claims } from "../../router/audience/claims.ts";
import { memberPrefix, membersRange, userOf } from "../../router/audience/keys.ts";
import type { OrderedStore } from "../../router/audience/store/ordered-store.ts";
import { missingTopics } from "../../router/stage/topic-keeper.ts";
import { type TopicReader, topicReader } from "../../router/stage/topic-reader.ts";
import { readWhole } from "../connect/known-operations.ts";

/**
 * @param onRecord called with each record, in order.
 * @throws Error with the command to run, if the topic `audiences` does not exist.
 */
export async function readClaims(
  kafka: Kafka,
  topics: TopicNames,
  signal: AbortSignal,
  onRecord: (record: IncomingRecord) => void = () => undefined,
): Promise<Claims> {
  const { audiences } = topics;
  if ((await missingTopics(kafka.admin, [audiences])).length > 0) {
    throw new Error(`The topic ${audiences} does not exist. Run: switchyard topics --apply`);
  }
  const claims = new Claims();
  await readWhole(kafka, audiences, signal, (record) => {
    onRecord(record);
    claims.take(record);
  });
  return claims;
}

export function audienceTable(audiences: readonly Claimed[]): string {
  const rows = audiences.map(({ id, name, key, members, last, awaitingApproval, openSyncId }) => [
    id,
    name,
    key,
    `${members}`,
    last === null ? "-" : `${last.syncId}, ${instant(last.endedAtMs)}`,
    openSyncId ?? "-",
    awaitingApproval === null
      ? "-"
      : `${awaitingApproval.syncId}, ${instant(awaitingApproval.sinceMs)}: ${awaitingApproval.removals} would leave`,
  ]);
  return table(
    ["ID", "NAME", "KEY", "MEMBERS", "LAST SYNC", "OPEN SYNC", "AWAITING APPROVAL"],
    rows,
  );
}

/** Formats the audiences as one JSON object. Times are in ISO 8601, in UTC. */
export function audiencesJson(audiences: readonly Claimed[]): string {
  return `${JSON.stringify({ audiences: audiences.map(audienceReport) }, undefined, 2)}\n`;
}

export function audienceReport(audience: Claimed) {
  const { id, name, key, members, last, awaitingApproval, openSyncId } = audience;
  return {
    id,
    name,
    key,
    members,
    last: last && { syncId: last.syncId, endedAt: instant(last.endedAtMs) },
    openSyncId,
    awaitingApproval: awaitingApproval && {
      syncId: awaitingApproval.syncId,
      since: instant(awaitingApproval.sinceMs),
      removals: awaitingApproval.removals,
    },
  };
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}

/**
 * Reads the current members of an audience from the changelog, and yields them in batches, in the order of their
 * IDs.
 *
 * @param scratch an empty directory, for members that do not fit into memory.
 */
export async function* readMembers(
  kafka: Kafka,
  topics: TopicNames,
  audience: Claimed,
  scratch: OrderedStore,
  signal: AbortSignal,
): AsyncGenerator<readonly string[]> {
  await fill(topicReader(kafka, systemClock, signal), topics.audienceMembers, audience, scratch);
  const { from, to } = membersRange(audience.first);
  for await (const entries of scratch.pieces(from, to)) {
    yield entries.map(([key]) => userOf(key));
  }
}

async function fill(
  reader: TopicReader,
  topic: string,
  { partition, first }: Claimed,
  scratch: OrderedStore,
): Promise<void> {
  const prefix = memberPrefix(first);
  const end = await reader.end(topic, partition);
  for await (const records of reader.read(topic, partition, 0, end)) {
    const changes = records.flatMap((record) => {
      const entry = readChangelog(record);
      if (entry?.key.startsWith(prefix) !== true) return [];
      return [[entry.key, entry.value === null ? null : ""] as const];
    });
    await scratch.write(changes);
  }
}
