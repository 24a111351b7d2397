/**
 * Asks for offsets of partitions, and reads them: version 2 of ListOffsets, which brokers of Kafka
 * 0.11 and later know. A process asks for all of its partitions every ten seconds.
 */

export const LIST_OFFSETS_KEY = 2;
export const LIST_OFFSETS_VERSION = 2;

const NO_REPLICA = -1;
/** All that is in the log, open transactions too. */
const READ_UNCOMMITTED = 0;
const PARTITION_BYTES = 4 + 8;

export interface ListedOffset {
  readonly topic: string;
  readonly partition: number;
  /** 0: none. */
  readonly errorCode: number;
  readonly offset: number;
}

/** @param topics partitions by topic. @param timestamp in epoch milliseconds, or a number below 0 of Kafka's. */
export function encodeListOffsets(
  topics: ReadonlyMap<string, readonly number[]>,
  timestamp: number,
): Buffer {
  let bytes = 4 + 1 + 4;
  for (const [topic, partitions] of topics) {
    bytes += 2 + Buffer.byteLength(topic) + 4 + partitions.length * PARTITION_BYTES;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  const time = BigInt(timestamp);
  let at = buffer.writeInt32BE(NO_REPLICA, 0);
  at = buffer.writeInt8(READ_UNCOMMITTED, at);
  at = buffer.writeInt32BE(topics.size, at);
  for (const [topic, partitions] of topics) {
    const length = buffer.write(topic, at + 2);
    at = buffer.writeInt16BE(length, at) + length;
    at = buffer.writeInt32BE(partitions.length, at);
    for (const partition of partitions) {
      at = buffer.writeInt32BE(partition, at);
      at = buffer.writeBigInt64BE(time, at);
    }
  }
  return buffer;
}

/** @param payload the answer after its correlation id. */
export function readListedOffsets(payload: Buffer): readonly ListedOffset[] {
  const listed: ListedOffset[] = [];
  // Behind the throttle time.
  let at = 4 + 4;
  for (let topics = payload.readInt32BE(4); topics > 0; topics -= 1) {
    const length = payload.readInt16BE(at);
    const topic = payload.toString("utf8", at + 2, at + 2 + length);
    at += 2 + length;
    let partitions = payload.readInt32BE(at);
    at += 4;
    for (; partitions > 0; partitions -= 1) {
      const partition = payload.readInt32BE(at);
      const errorCode = payload.readInt16BE(at + 4);
      // Behind its timestamp.
      const offset = Number(payload.readBigInt64BE(at + 14));
      listed.push({ topic, partition, errorCode, offset });
      at += 22;
    }
  }
  return listed;
}
