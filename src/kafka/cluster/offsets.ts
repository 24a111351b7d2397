/**
 * Requests offsets of many topics and groups in parallel, because a few hundred requests one at a time would take a
 * second.
 *
 *   query                               requests
 *   first offsets and log end offsets   two per broker and 500 topics
 *   committed offsets                   two per broker and 500 groups (`groups-offsets.ts`); two per group whose
 *                                       offsets are then unknown, 64 groups at a time
 *   topic IDs                           one per 500 topics
 *
 *   a topic                                                 then
 *   does not exist                                          is omitted
 *   is hidden, or its group is; has no leader; its          `onUnknown` gets it and the others are
 *     broker does not respond four times; its group         returned; without `onUnknown`, the call fails
 *     has no coordinator for 10 s
 */

import { setTimeout as sleep } from "node:timers/promises";
import { asError } from "../../base/runtime/as-error.ts";
import { type PartitionPlace, partitionKey, type RecordPlace } from "../../domain/record.ts";
import type { Broker } from "../broker/broker-connection.ts";
import * as requests from "../broker/requests.ts";
import type { CommittedOffset, OnUnknown, PartitionOffset, PartitionOffsets } from "../port.ts";
import type { Brokers } from "./brokers.ts";
import { type GroupQuery, groupsOffsets, offsetsRequest, onlyGroup } from "./groups-offsets.ts";
import {
  ELECTION_LIMIT_MS,
  errorKind,
  errorTypes,
  NO_COORDINATOR,
  protocolError,
} from "./kafka-error.ts";

const TOPICS_MAX = 500;
const GROUPS_MAX = 500;
const GROUPS_AT_ONCE = 64;

const UNKNOWN_TOPIC = 3;
/** Kafka's codes for a topic that does not exist, or cannot exist. */
const NO_TOPIC = new Set([UNKNOWN_TOPIC, 17]);
const NO_LEADER = 5;
/** How many times, and after which wait, a broker that has not responded is queried again. */
const AGAIN = 3;
const AGAIN_MS = 300;
/** The ID of a client, instead of a replica's. */
const NO_REPLICA = -1;
/** The offset if no record is at the requested time or later. */
const NO_RECORD = -1;

/** The end is the log end offset, after all records, including those of open transactions. */
const READ_UNCOMMITTED = 0;
/** The end is the last stable offset, where a reader stops: the start of the first open transaction, if any. */
export const READ_COMMITTED = 1;
type Isolation = typeof READ_UNCOMMITTED | typeof READ_COMMITTED;

/** The offset is -1 if there is no record at the requested time or later. */
interface ListedOffset extends RecordPlace {
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
}

/** Offsets by topic; topics that do not exist are omitted. */
export async function offsetsOf(
  brokers: Brokers,
  topics: readonly string[],
  onUnknown?: OnUnknown,
): Promise<ReadonlyMap<string, readonly PartitionOffsets[]>> {
  const unknown = new Unknown(onUnknown);
  const leaders = await partitionsOf(brokers, topics, unknown);
  const offsets = new Map<string, PartitionOffsets[]>();
  for (const chunk of chunks([...leaders.keys()], TOPICS_MAX)) {
    const wanted = chunk.flatMap((topic) => leaders.get(topic) ?? []);
    const firsts = await list(brokers, wanted, EARLIEST, unknown);
    const ends = await list(brokers, wanted, LATEST, unknown);
    for (const topic of chunk) {
      if (unknown.has(topic)) continue;
      const found = (leaders.get(topic) ?? []).map(({ partition }) => ({
        partition,
        first: firsts.get(partitionKey({ topic, partition })) ?? 0,
        end: ends.get(partitionKey({ topic, partition })) ?? 0,
      }));
      offsets.set(topic, found);
    }
  }
  return offsets;
}

/**
 * The offsets between which a reader gets records: it stops before open transactions.
 *
 * @throws if the topic does not exist.
 */
export async function readableOffsets(
  brokers: Brokers,
  topic: string,
): Promise<readonly PartitionOffsets[]> {
  const led = await existing(brokers, topic);
  const firsts = await list(brokers, led, EARLIEST, ALL_KNOWN, READ_COMMITTED);
  const ends = await list(brokers, led, LATEST, ALL_KNOWN, READ_COMMITTED);
  return led.map((place) => ({
    partition: place.partition,
    first: firsts.get(partitionKey(place)) ?? 0,
    end: ends.get(partitionKey(place)) ?? 0,
  }));
}

/** For each partition, the offset of the first record at `atMs` or later, or the end. */
export async function offsetsAt(
  brokers: Brokers,
  topic: string,
  atMs: number,
): Promise<readonly PartitionOffset[]> {
  const led = await existing(brokers, topic);
  // The end is read first, so that it is not above the offset of a record that is written meanwhile.
  const ends = await list(brokers, led, LATEST, ALL_KNOWN, READ_COMMITTED);
  const found = await list(brokers, led, atMs, ALL_KNOWN, READ_COMMITTED);
  return led.map((place) => {
    const offset = found.get(partitionKey(place)) ?? NO_RECORD;
    const end = ends.get(partitionKey(place)) ?? 0;
    return { partition: place.partition, offset: offset < 0 ? end : offset };
  });
}

/** The partitions of a topic. A missing topic is queried again, because it may be new and not in all metadata yet. */
async function existing(brokers: Brokers, topic: string): Promise<readonly Led[]> {
  for (let left = AGAIN; ; left -= 1) {
    const led = (await partitionsOf(brokers, [topic], ALL_KNOWN)).get(topic);
    if (led !== undefined) return led;
    if (left === 0) throw protocolError(UNKNOWN_TOPIC, topic);
    await sleep(AGAIN_MS);
  }
}

/** Committed offsets by group and topic. Partitions without a committed offset are omitted. */
export async function committedOf(
  brokers: Brokers,
  groups: ReadonlyMap<string, readonly string[]>,
  onUnknown?: OnUnknown,
): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>> {
  const unknown = new Unknown(onUnknown);
  const names = [...new Set([...groups.values()].flat())];
  const partitions = await partitionsOf(brokers, names, unknown);
  const found = new Map<string, ReadonlyMap<string, readonly CommittedOffset[]>>();
  const all = [...groups].flatMap(([groupId, topics]): readonly GroupQuery[] => {
    const wanted = topics.flatMap((topic) => {
      const led = partitions.get(topic);
      return led === undefined ? [] : [{ topic, partitions: led }];
    });
    return wanted.length === 0 ? [] : [[groupId, wanted]];
  });
  for (const some of chunks(all, GROUPS_MAX)) {
    for (const [groupId, offsets] of await groupsOffsets(brokers, some))
      found.set(groupId, offsets);
  }
  const left = all.filter(([groupId]) => !found.has(groupId));
  for (const some of chunks(left, GROUPS_AT_ONCE)) {
    await Promise.all(
      some.map(async ([groupId, wanted]) => {
        const query = () => committed(brokers, groupId, wanted, unknown);
        const read = wanted.map(({ topic }) => topic);
        const result = await unknown.ofAll(read, query, `the group ${groupId}`);
        if (result !== null) found.set(groupId, result);
      }),
    );
  }
  return found;
}

/** Topic IDs by name, without topics that do not exist, have no ID, or are hidden from this process. */
export async function topicIdsOf(
  brokers: Brokers,
  topics: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const chunk of chunks(topics, TOPICS_MAX)) {
    for (const [topic, id] of await brokers.topicIds(chunk)) found.set(topic, id);
  }
  return found;
}

/** Topics for which there is no result. */
class Unknown {
  readonly #topics = new Set<string>();
  readonly #onUnknown: OnUnknown | undefined;
  /** All topics of a call share this limit, so that a missing coordinator delays the call only once. */
  readonly #electedByMs = performance.now() + ELECTION_LIMIT_MS;

  constructor(onUnknown: OnUnknown | undefined) {
    this.#onUnknown = onUnknown;
  }

  has(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /** @throws the error if there is no `onUnknown`. */
  is(topic: string, error: Error): void {
    if (this.#onUnknown === undefined) throw error;
    this.#topics.add(topic);
    this.#onUnknown(topic, error);
  }

  /** Returns null if there was no result for any of the topics, even after retries. */
  async ofAll<Result>(
    topics: readonly string[],
    query: () => Promise<Result>,
    what: string,
  ): Promise<Result | null> {
    if (this.#onUnknown === undefined) return await query();
    let left = AGAIN;
    for (;;) {
      try {
        return await query();
      } catch (error) {
        const types = errorTypes(error);
        const isElection = NO_COORDINATOR.some((type) => types.has(type));
        if (isElection ? performance.now() < this.#electedByMs : left > 0 && mayPass(error)) {
          if (!isElection) left -= 1;
          await sleep(AGAIN_MS);
          continue;
        }
        for (const topic of topics) this.is(topic, worded(error, what));
        return null;
      }
    }
  }
}

/** For queries that fail if a topic has no result. */
const ALL_KNOWN = new Unknown(undefined);

interface Led extends PartitionPlace {
  /** Negative if there is currently no leader. */
  readonly leader: number;
}

async function partitionsOf(
  brokers: Brokers,
  topics: readonly string[],
  unknown: Unknown,
): Promise<ReadonlyMap<string, readonly Led[]>> {
  const found = new Map<string, readonly Led[]>();
  for (const chunk of chunks(topics, TOPICS_MAX)) {
    for (const { name, errorCode: code, partitions } of (await brokers.metadata(chunk)).topics) {
      const topic = name ?? "";
      if (NO_TOPIC.has(code)) continue;
      if (code !== 0) {
        unknown.is(topic, worded(protocolError(code, topic), `the topic ${topic}`));
        continue;
      }
      const led = partitions
        .map((each) => ({ topic, partition: each.partitionIndex, leader: each.leaderId }))
        .sort((one, other) => one.partition - other.partition);
      found.set(topic, led);
    }
  }
  return found;
}

async function list(
  brokers: Brokers,
  wanted: readonly Led[],
  timestamp: number,
  unknown: Unknown,
  isolation?: Isolation,
): Promise<ReadonlyMap<string, number>> {
  const offsets = new Map<string, number>();
  const failed = ({ topic, partition }: PartitionPlace, code: number) => {
    unknown.is(topic, worded(protocolError(code, topic), `partition ${partition} of ${topic}`));
  };
  const ofBroker = Map.groupBy(wanted, ({ leader }) => leader);
  await Promise.all(
    [...ofBroker].map(async ([nodeId, led]) => {
      if (nodeId < 0) {
        for (const each of led) failed(each, NO_LEADER);
        return;
      }
      const query = async () => {
        return listOffsets(await brokers.leader(nodeId), led, timestamp, isolation);
      };
      const topics = [...new Set(led.map(({ topic }) => topic))];
      for (const each of (await unknown.ofAll(topics, query, `the broker ${nodeId}`)) ?? []) {
        if (each.errorCode === 0) offsets.set(partitionKey(each), each.offset);
        else failed(each, each.errorCode);
      }
    }),
  );
  return offsets;
}

async function committed(
  brokers: Brokers,
  groupId: string,
  topics: GroupQuery[1],
  unknown: Unknown,
): Promise<ReadonlyMap<string, readonly CommittedOffset[]>> {
  const coordinator = await brokers.coordinator(groupId);
  const response = await coordinator.send(offsetsRequest([groupId, topics]));
  const { errorCode, topics: committed } = onlyGroup(response);
  if (errorCode !== 0) throw protocolError(errorCode, groupId);
  const found = committed.map(({ name: topic, partitions }) => {
    const offsets = partitions.flatMap((each): readonly CommittedOffset[] => {
      if (each.errorCode !== 0) {
        unknown.is(topic, worded(protocolError(each.errorCode, topic), `the topic ${topic}`));
        return [];
      }
      const { partitionIndex: partition, metadata } = each;
      const offset = Number(each.committedOffset);
      return offset < 0 ? [] : [{ partition, offset, metadata: metadata ?? "" }];
    });
    return [topic, offsets.sort((one, other) => one.partition - other.partition)] as const;
  });
  return new Map(found.filter(([topic]) => !unknown.has(topic)));
}

/** `true` if a retry may help: the connection has ended and will be opened again, or a leader is being elected. */
function mayPass(error: unknown): boolean {
  return errorTypes(error).size === 0 || errorKind(error) !== "fatal";
}

/** The error, extended by the topic or group that it is about. */
function worded(error: unknown, what: string): Error {
  return new Error(`${what}: ${asError(error).message}`, { cause: error });
}

export function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size));
}

/** The timestamp that requests the end of the log (KIP-79). */
export const LATEST = -1;
/** The timestamp that requests the first offset. */
export const EARLIEST = -2;

/**
 * The offsets of partitions as their leader lists them.
 *
 * @param wanted partitions that this broker leads. @param timestamp in epoch milliseconds, `LATEST` or `EARLIEST`.
 */
export async function listOffsets(
  leader: Broker,
  wanted: readonly PartitionPlace[],
  timestamp: number,
  isolation: Isolation = READ_UNCOMMITTED,
): Promise<readonly ListedOffset[]> {
  const query = { currentLeaderEpoch: requests.NO_EPOCH, timestamp: BigInt(timestamp) };
  const topics = [...Map.groupBy(wanted, ({ topic }) => topic)].map(([name, places]) => ({
    name,
    partitions: places.map(({ partition }) => ({ partitionIndex: partition, ...query })),
  }));
  const listed = await leader.send(requests.listOffsets(NO_REPLICA, isolation, topics));
  return listed.topics.flatMap(({ name: topic, partitions }) =>
    partitions.map(({ partitionIndex: partition, errorCode, offset }) => {
      return { topic, partition, errorCode, offset: Number(offset) };
    }),
  );
}
