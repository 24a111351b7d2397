/**
 * Encodes ListOffsets requests, versions 2 to 5, and reads their responses. Brokers of Kafka 0.11 and later accept at
 * least one of these versions. A process requests all of its partitions every ten seconds.
 *
 *   version   adds
 *   4         the leader epoch, in both directions
 *   5         an error code
 */

import type { RecordPlace } from "../../domain/record.ts";
import { MessageReader } from "./flexible.ts";

const WITH_EPOCH = 4;
/** The leader epoch is unknown, so the broker does not compare it with its own. */
const NO_EPOCH = -1;

const NO_REPLICA = -1;
/** The end is the log end offset, after all records, including those of open transactions. */
export const READ_UNCOMMITTED = 0;
/** The end is the last stable offset, where a reader stops: the start of the first open transaction, if any. */
export const READ_COMMITTED = 1;
const PARTITION_BYTES = 4 + 8;
const THROTTLE_BYTES = 4;

/** The offset is -1 if there is no record at the requested time or later. */
export interface ListedOffset extends RecordPlace {
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
}

export interface OffsetsQuery {
  readonly topics: ReadonlyMap<string, readonly number[]>;
  /** In epoch milliseconds, or one of Kafka's negative values. */
  readonly timestamp: number;
  readonly isolation: typeof READ_UNCOMMITTED | typeof READ_COMMITTED;
}

export function encodeListOffsets(
  { topics, timestamp, isolation }: OffsetsQuery,
  version: number,
): Buffer {
  const epochBytes = version >= WITH_EPOCH ? 4 : 0;
  let bytes = 4 + 1 + 4;
  for (const [topic, partitions] of topics) {
    bytes += 2 + Buffer.byteLength(topic) + 4;
    bytes += partitions.length * (PARTITION_BYTES + epochBytes);
  }
  const buffer = Buffer.allocUnsafe(bytes);
  const time = BigInt(timestamp);
  let at = buffer.writeInt32BE(NO_REPLICA, 0);
  at = buffer.writeInt8(isolation, at);
  at = buffer.writeInt32BE(topics.size, at);
  for (const [topic, partitions] of topics) {
    const length = buffer.write(topic, at + 2);
    at = buffer.writeInt16BE(length, at) + length;
    at = buffer.writeInt32BE(partitions.length, at);
    for (const partition of partitions) {
      at = buffer.writeInt32BE(partition, at);
      if (version >= WITH_EPOCH) at = buffer.writeInt32BE(NO_EPOCH, at);
      at = buffer.writeBigInt64BE(time, at);
    }
  }
  return buffer;
}

/** @param payload the part of the response that follows the correlation ID. */
export function readListedOffsets(payload: Buffer, version: number): readonly ListedOffset[] {
  const reader = new MessageReader(payload, THROTTLE_BYTES);
  const listed = reader.plainArray(() => {
    const topic = reader.plainString() ?? "";
    return reader.plainArray((): ListedOffset => {
      const partition = reader.int32();
      const errorCode = reader.int16();
      reader.skip(8); // timestamp
      const offset = reader.int64();
      if (version >= WITH_EPOCH) reader.skip(4);
      return { topic, partition, errorCode, offset };
    });
  });
  return listed.flat();
}
