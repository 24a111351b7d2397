/**
 * Offsets of many topics and groups, asked side by side: one after the other they would take a second
 * for each few hundred.
 *
 *   asked for                     requests
 *   first offsets and ends        two for each broker and 500 topics
 *   committed offsets             two for each group, 64 groups at a time
 */

import { request } from "../kafkajs/internals.ts";
import type { CommittedOffset, PartitionOffsets } from "../port.ts";
import type { Brokers } from "./brokers.ts";
import { protocolError } from "./kafka-error.ts";
import { EARLIEST, LATEST, listOffsets } from "./list-offsets.ts";

const TOPICS_MAX = 500;
const GROUPS_AT_ONCE = 64;

type Timestamp = Parameters<typeof listOffsets>[2];

interface Place {
  readonly topic: string;
  readonly partition: number;
}

interface Found extends Place {
  readonly offset: number;
}

interface OffsetFetchResponse {
  readonly errorCode?: number;
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly offset: string;
      readonly metadata: string | null;
    }[];
  }[];
}

/** By topic; one that does not exist is left out. Throws when a partition has no leader. */
export async function offsetsOf(
  brokers: Brokers,
  topics: readonly string[],
): Promise<ReadonlyMap<string, readonly PartitionOffsets[]>> {
  const leaders = await partitionsOf(brokers, topics);
  const offsets = new Map<string, PartitionOffsets[]>();
  for (const chunk of chunks([...leaders.keys()], TOPICS_MAX)) {
    const asked = chunk.flatMap((topic) => leaders.get(topic) ?? []);
    const firsts = await list(brokers, asked, EARLIEST);
    const ends = await list(brokers, asked, LATEST);
    for (const topic of chunk) {
      const found = (leaders.get(topic) ?? []).map(({ partition }) => ({
        partition,
        first: firsts.get(keyOf({ topic, partition })) ?? 0,
        end: ends.get(keyOf({ topic, partition })) ?? 0,
      }));
      offsets.set(topic, found);
    }
  }
  return offsets;
}

/** By group and topic. Partitions without one are left out. */
export async function committedOf(
  brokers: Brokers,
  groups: ReadonlyMap<string, readonly string[]>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>> {
  const partitions = await partitionsOf(brokers, [...new Set([...groups.values()].flat())]);
  const found = new Map<string, ReadonlyMap<string, readonly CommittedOffset[]>>();
  for (const some of chunks([...groups], GROUPS_AT_ONCE)) {
    await Promise.all(
      some.map(async ([groupId, topics]) => {
        const asked = topics.map((topic) => ({ topic, partitions: partitions.get(topic) ?? [] }));
        found.set(groupId, await committed(brokers, groupId, asked));
      }),
    );
  }
  return found;
}

interface Led extends Place {
  readonly leader: number;
}

async function partitionsOf(
  brokers: Brokers,
  topics: readonly string[],
): Promise<ReadonlyMap<string, readonly Led[]>> {
  const found = new Map<string, readonly Led[]>();
  for (const chunk of chunks(topics, TOPICS_MAX)) {
    const { topicMetadata } = await brokers.metadata(chunk);
    for (const { topic, topicErrorCode, partitionMetadata } of topicMetadata) {
      if (topicErrorCode !== 0) continue;
      const led = partitionMetadata
        .map(({ partitionId, leader }) => ({ topic, partition: partitionId, leader }))
        .sort((one, other) => one.partition - other.partition);
      found.set(topic, led);
    }
  }
  return found;
}

async function list(
  brokers: Brokers,
  asked: readonly Led[],
  timestamp: Timestamp,
): Promise<ReadonlyMap<string, number>> {
  const ofBroker = Map.groupBy(asked, ({ leader }) => leader);
  const answers = await Promise.all(
    [...ofBroker].map(([nodeId, led]) => listFrom(brokers, nodeId, led, timestamp)),
  );
  return new Map(answers.flat().map((each) => [keyOf(each), each.offset]));
}

async function listFrom(
  brokers: Brokers,
  nodeId: number,
  asked: readonly Place[],
  timestamp: Timestamp,
): Promise<readonly Found[]> {
  const listed = await listOffsets(await brokers.leader(nodeId), asked, timestamp);
  const failed = listed.find(({ errorCode }) => errorCode !== 0);
  if (failed !== undefined) throw protocolError(failed.errorCode);
  return listed;
}

async function committed(
  brokers: Brokers,
  groupId: string,
  topics: readonly { readonly topic: string; readonly partitions: readonly Place[] }[],
): Promise<ReadonlyMap<string, readonly CommittedOffset[]>> {
  const coordinator = await brokers.coordinator(groupId);
  const { errorCode = 0, responses } = await request<OffsetFetchResponse>(
    coordinator,
    "OffsetFetch",
    { groupId, topics },
  );
  if (errorCode !== 0) throw protocolError(errorCode);
  const found = responses.map(({ topic, partitions }) => {
    const offsets = partitions.flatMap((each): readonly CommittedOffset[] => {
      if (each.errorCode !== 0) throw protocolError(each.errorCode);
      const { partition, metadata } = each;
      const offset = Number(each.offset);
      return offset < 0 ? [] : [{ partition, offset, metadata: metadata ?? "" }];
    });
    return [topic, offsets.sort((one, other) => one.partition - other.partition)] as const;
  });
  return new Map(found);
}

function keyOf({ topic, partition }: Place): string {
  return `${topic}/${partition}`;
}

function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}
