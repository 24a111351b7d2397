/** Encodes Fetch requests with a session (KIP-227), version 11. */

import type { PartitionPlace, RecordPlace } from "../../domain/record.ts";

const CONSUMER = -1;
const MIN_BYTES = 1;
const READ_COMMITTED = 1;
/** The value of fields that only a follower sets. */
const UNKNOWN = -1;
const HEAD_BYTES = 4 + 4 + 4 + 4 + 1 + 4 + 4;
const PARTITION_BYTES = 4 + 4 + 8 + 8 + 4;

export interface RequestedPartition extends RecordPlace {
  readonly maxBytes: number;
}

export interface FetchWithSession {
  /** 0 if there is no session yet. */
  readonly sessionId: number;
  /** 0 starts a session. */
  readonly sessionEpoch: number;
  readonly maxWaitMs: number;
  readonly maxBytes: number;
  /** Partitions that are new in the session, or are requested at another offset. */
  readonly requested: readonly RequestedPartition[];
  /** Partitions that leave the session. */
  readonly forgotten: readonly PartitionPlace[];
}

export function encodeFetch(fetch: FetchWithSession): Buffer {
  const requested = Map.groupBy(fetch.requested, ({ topic }) => topic);
  const forgotten = Map.groupBy(fetch.forgotten, ({ topic }) => topic);
  const names = (topics: Iterable<string>) =>
    [...topics].reduce((bytes, topic) => bytes + 2 + Buffer.byteLength(topic) + 4, 4);
  const bytes =
    HEAD_BYTES +
    names(requested.keys()) +
    fetch.requested.length * PARTITION_BYTES +
    names(forgotten.keys()) +
    fetch.forgotten.length * 4 +
    2;
  const buffer = Buffer.allocUnsafe(bytes);
  let at = writeHead(buffer, fetch);
  at = buffer.writeInt32BE(requested.size, at);
  for (const [topic, partitions] of requested) {
    at = writeName(buffer, at, topic);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const each of partitions) at = writePartition(buffer, at, each);
  }
  at = buffer.writeInt32BE(forgotten.size, at);
  for (const [topic, partitions] of forgotten) {
    at = writeName(buffer, at, topic);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const { partition } of partitions) at = buffer.writeInt32BE(partition, at);
  }
  // The rack is not set.
  buffer.writeInt16BE(0, at);
  return buffer;
}

function writeHead(buffer: Buffer, fetch: FetchWithSession): number {
  let at = buffer.writeInt32BE(CONSUMER, 0);
  at = buffer.writeInt32BE(fetch.maxWaitMs, at);
  at = buffer.writeInt32BE(MIN_BYTES, at);
  at = buffer.writeInt32BE(fetch.maxBytes, at);
  at = buffer.writeInt8(READ_COMMITTED, at);
  at = buffer.writeInt32BE(fetch.sessionId, at);
  return buffer.writeInt32BE(fetch.sessionEpoch, at);
}

/** Writes the length of a string, and then the string. */
function writeName(buffer: Buffer, start: number, name: string): number {
  const bytes = buffer.write(name, start + 2);
  buffer.writeInt16BE(bytes, start);
  return start + 2 + bytes;
}

function writePartition(buffer: Buffer, start: number, requested: RequestedPartition): number {
  let at = buffer.writeInt32BE(requested.partition, start);
  at = buffer.writeInt32BE(UNKNOWN, at);
  at = buffer.writeBigInt64BE(BigInt(requested.offset), at);
  at = buffer.writeBigInt64BE(BigInt(UNKNOWN), at);
  return buffer.writeInt32BE(requested.maxBytes, at);
}
