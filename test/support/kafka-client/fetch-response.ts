/** The log end offset of the partitions, 4,096, in 64 bits. */
const END = [0, 0, 0, 0, 0, 0, 0x10, 0];

/**
 * A Fetch response of version 11 with two topics of two partitions each.
 *
 * @param records the records of the last partition
 * @param others the records of the second topic's first partition
 * @param errorCode the error code of the last partition
 */

import { BoundedReader } from "../../../src/kafka/broker/bounded-reader.ts";
export function fetchResponse(
  records: Buffer,
  others: Buffer = Buffer.alloc(0),
  errorCode = 0,
): Buffer {
  const int = (bytes: number, value: number) => {
    const buffer = Buffer.alloc(bytes);
    if (value !== 0) buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const partition = (id: number, content: Buffer, error = 0) => [
    int(4, id),
    int(2, error),
    Buffer.from(END),
    Buffer.alloc(8 + 8),
    int(4, 1),
    Buffer.alloc(16),
    int(4, -1),
    int(4, content.length),
    content,
  ];
  const topic = (name: string, of5: Buffer, of6: Buffer, error = 0) => [
    int(2, name.length),
    Buffer.from(name),
    int(4, 2),
    ...partition(5, of5),
    ...partition(6, of6, error),
  ];
  return Buffer.concat([
    Buffer.alloc(10),
    int(4, 2),
    ...topic("first", Buffer.alloc(0), Buffer.alloc(0)),
    ...topic("second", others, records, errorCode),
  ]);
}

export const readerOf = (payload: Buffer): BoundedReader => BoundedReader.of(payload);
