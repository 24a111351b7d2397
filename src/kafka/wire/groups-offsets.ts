/**
 * Encodes requests about many groups at once, and reads the responses: version 4 of FindCoordinator and version 8 of
 * OffsetFetch, which brokers of Kafka 3.0 and later accept.
 */

import { compact, MessageReader, uvarint } from "./flexible.ts";

const NO_TAGS = Buffer.from([0]);
/** The key is the ID of a group. */
const GROUP = Buffer.from([0]);
/** Offsets of transactions in progress are returned as they are. */
const UNSTABLE = Buffer.from([0]);

export interface FoundCoordinator {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

/** A group's ID, and the partitions whose committed offsets are requested. */
export type GroupQuery = readonly [
  groupId: string,
  topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number }[];
  }[],
];
export type CommittedByTopic = ReadonlyMap<string, readonly GroupOffset[]>;

interface GroupOffset {
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

/** Starts with the tagged fields that end the request header. */
export function encodeCoordinatorsQuery(groups: readonly string[]): Buffer {
  return Buffer.concat([NO_TAGS, GROUP, array(groups, compact), NO_TAGS]);
}

/** @returns the coordinators by group, without groups that have an error. */
export function readCoordinators(payload: Buffer): ReadonlyMap<string, FoundCoordinator> {
  const reader = new MessageReader(payload);
  reader.taggedFields();
  reader.skip(4); // throttle time
  const found = new Map<string, FoundCoordinator>();
  reader.array(() => {
    const group = reader.string() ?? "";
    const nodeId = reader.int32();
    const host = reader.string() ?? "";
    const port = reader.int32();
    const errorCode = reader.int16();
    reader.string(); // error message
    reader.taggedFields();
    if (errorCode === 0) found.set(group, { nodeId, host, port });
  });
  return found;
}

/** Starts with the tagged fields that end the request header. */
export function encodeOffsetsQuery(groups: readonly GroupQuery[]): Buffer {
  const list = array(groups, ([group, topics]) => {
    const wanted = array(topics, ({ topic, partitions }) =>
      Buffer.concat([
        compact(topic),
        array(partitions, ({ partition }) => int32(partition)),
        NO_TAGS,
      ]),
    );
    return Buffer.concat([compact(group), wanted, NO_TAGS]);
  });
  return Buffer.concat([NO_TAGS, list, UNSTABLE, NO_TAGS]);
}

/** @returns the committed offsets by group, without groups that have an error. */
export function readGroupsOffsets(payload: Buffer): ReadonlyMap<string, CommittedByTopic> {
  const reader = new MessageReader(payload);
  reader.taggedFields();
  reader.skip(4); // throttle time
  const found = new Map<string, CommittedByTopic>();
  reader.array(() => {
    const group = reader.string() ?? "";
    const topics = new Map<string, readonly GroupOffset[]>();
    let isWhole = true;
    reader.array(() => {
      const topic = reader.string() ?? "";
      const offsets: GroupOffset[] = [];
      reader.array(() => {
        const partition = reader.int32();
        const offset = reader.int64();
        reader.skip(4); // leader epoch
        const metadata = reader.string() ?? "";
        if (reader.int16() !== 0) isWhole = false;
        reader.taggedFields();
        if (offset >= 0) offsets.push({ partition, offset, metadata });
      });
      reader.taggedFields();
      topics.set(
        topic,
        offsets.toSorted((one, other) => one.partition - other.partition),
      );
    });
    if (reader.int16() === 0 && isWhole) found.set(group, topics);
    reader.taggedFields();
  });
  return found;
}

function array<Item>(items: readonly Item[], encode: (item: Item) => Buffer): Buffer {
  return Buffer.concat([uvarint(items.length + 1), ...items.map(encode)]);
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}
