/**
 * If connections are shared, sends a member's heartbeats and commits without kafkajs, which creates about
 * twenty promises and several buffers for each request. A thousand members send 400 of these requests a
 * second.
 *
 *   the coordinator                    the request is sent
 *   accepts the version, and its       as one of ours (`wire/group-requests.ts`)
 *   connection is shared
 *   otherwise                          through kafkajs
 */

import type { OffsetToCommit } from "../membership.ts";
import {
  encodeCommit,
  encodeHeartbeat,
  type GroupResponse,
  readCommitResponse,
  readHeartbeatResponse,
} from "../wire/group-requests.ts";
import * as kinds from "../wire/request-kinds.ts";
import type { RequestKind } from "../wire/request-version.ts";
import type { DirectRequest } from "./broker-connection.ts";
import type { ConsumerGroup, OffsetsOfTopic } from "./consumer-group.ts";
import { createErrorFromCode } from "./internals.ts";
import { MemberPool } from "./member-pool.ts";

const HEARTBEAT = { ...sent(kinds.HEARTBEAT), isRepeatable: true, read: readHeartbeatResponse };
// Commits are not repeatable, because the earlier of two commits could arrive after the later one.
const COMMIT = { ...sent(kinds.COMMIT), isRepeatable: false, read: readCommitResponse };

/**
 * Sends no heartbeat if the last one was less than `interval` ago. Concurrent callers share the heartbeat in
 * flight. This is also how the group's own `heartbeat` works.
 */
export function heartbeatOf(group: ConsumerGroup): ConsumerGroup["heartbeat"] {
  const ofKafkajs = group.heartbeat.bind(group);
  let inFlight: Promise<void> | null = null;
  const send = async (pool: MemberPool, memberId: string): Promise<void> => {
    try {
      const { groupId, generationId } = group;
      const member = { groupId, generationId, memberId };
      const encode = (roomBytes: number) => encodeHeartbeat(member, roomBytes);
      await exchange(pool, { ...HEARTBEAT, encode });
      group.lastRequest = Date.now();
    } finally {
      inFlight = null;
    }
  };
  return (request) => {
    if (inFlight !== null) return inFlight;
    const pool = sharedPool(group.coordinator, kinds.HEARTBEAT);
    if (pool === null) return ofKafkajs(request);
    const { memberId, lastRequest } = group;
    const isDue = Date.now() >= lastRequest + request.interval;
    if (memberId === null || !isDue) return Promise.resolve();
    inFlight = send(pool, memberId);
    return inFlight;
  };
}

/** Makes one attempt to commit, as the member of the latest join. */
export async function commit(
  group: ConsumerGroup,
  offsets: readonly OffsetToCommit[],
): Promise<void> {
  const { groupId, offsetManager, cluster } = group;
  const pool = sharedPool(offsetManager.coordinator, kinds.COMMIT);
  const topics = byTopic(offsets);
  if (pool === null) return await group.commitOffsets({ topics: topics.map(inText) });
  const { generationId, memberId } = offsetManager;
  const member = { groupId, generationId, memberId };
  const encode = (roomBytes: number) => encodeCommit(member, topics, roomBytes);
  try {
    await exchange(pool, { ...COMMIT, encode });
  } catch (error) {
    if (isElsewhere(error)) await cluster.refreshMetadata();
    throw error;
  }
  // kafkajs continues from the committed offset if it has not read anything yet.
  const committed = offsetManager.committedOffsets();
  for (const { topic, partition, offset } of offsets) {
    const ofTopic = committed[topic];
    if (ofTopic !== undefined) ofTopic[partition] = `${offset}`;
  }
}

async function exchange(pool: MemberPool, request: DirectRequest<GroupResponse>): Promise<void> {
  const { errorCode } = await pool.sendDirect(request);
  if (errorCode !== 0) throw createErrorFromCode(errorCode);
}

/** The fields of a request that has only one version. */
function sent({ apiKey, apiName, versions }: RequestKind) {
  return { apiKey, apiName, apiVersion: Math.max(...versions) };
}

function sharedPool(
  coordinator: { readonly connectionPool?: unknown } | null,
  kind: RequestKind,
): MemberPool | null {
  const pool = coordinator?.connectionPool;
  return pool instanceof MemberPool && pool.supports(kind) ? pool : null;
}

function isElsewhere(error: unknown): boolean {
  return error instanceof Error && "type" in error && error.type === "NOT_COORDINATOR_FOR_GROUP";
}

function byTopic(offsets: readonly OffsetToCommit[]) {
  const topics = Map.groupBy(offsets, ({ topic }) => topic);
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

function inText({ topic, partitions }: ReturnType<typeof byTopic>[number]): OffsetsOfTopic {
  return {
    topic,
    partitions: partitions.map(({ partition, offset, metadata }) => ({
      partition,
      offset: `${offset}`,
      metadata,
    })),
  };
}
