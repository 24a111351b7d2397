/** A Fetch response of version 11 with these partitions. */

export interface ResultPartition {
  readonly topic: string;
  readonly partition?: number;
  readonly errorCode?: number;
  readonly end?: number;
  readonly records?: Buffer;
}

export function fetchResult(
  partitions: readonly ResultPartition[],
  { sessionId = 1, errorCode = 0 } = {},
): Buffer {
  return Buffer.concat([
    int32(0),
    int16(errorCode),
    int32(sessionId),
    int32(partitions.length),
    ...partitions.flatMap(({ topic, partition = 0, errorCode: error = 0, end = 9, records }) => [
      int16(topic.length),
      Buffer.from(topic),
      int32(1),
      int32(partition),
      int16(error),
      int64(end),
      int64(end),
      int64(0),
      int32(0),
      int32(-1),
      int32(records?.length ?? 0),
      records ?? Buffer.alloc(0),
    ]),
  ]);
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

function int64(value: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(BigInt(value));
  return buffer;
}
