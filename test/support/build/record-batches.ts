// Record batches for the tests of the decoder, and the decoder.

import { crc32c } from "@node-rs/crc32";

import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Wanted } from "../../../src/kafka/wire/decode-batch.ts";
import { decodeRecords } from "../../../src/kafka/wire/decode-records.ts";
import { encodeProduce } from "../../../src/kafka/wire/encode-produce.ts";
import type { OutgoingMessage } from "../../../src/kafka/wire/encode-records.ts";
import { type FetchedRecord, recordOf } from "../../../src/kafka/wire/fetched-record.ts";
import { varint } from "../../../src/kafka/wire/kept-records.ts";
import { RecordReader } from "../../../src/kafka/wire/record-reader.ts";
import { compressed, RECORDS_AT, withRecords } from "./compressed-batch.ts";

/** The batch that the encoder writes for the messages, compressed in the way of other producers. */
export async function encodeBatch(
  messages: readonly OutgoingMessage[],
  options: {
    readonly compression?: number;
    readonly baseOffset?: number;
    readonly producerId?: number;
  } = {},
): Promise<Buffer> {
  const { producerId = -1 } = options;
  const ids = { producerId, producerEpoch: 0, firstSequence: 0, nowMs: 1_700_000_000_000 };
  const produce = {
    acks: -1,
    timeout: 1000,
    topicData: [{ topic: "t", partitions: [{ partition: 0, messages, ...ids }] }],
  };
  const request = encodeProduce(produce);
  // The request has the transactional ID, acks and timeout, then one topic "t" and one partition with its number and
  // size.
  const batch = request.subarray(2 + 2 + 4 + 4 + 3 + 4 + 4 + 4);
  batch.writeBigInt64BE(BigInt(options.baseOffset ?? 0), 0);
  return compressed(batch, options.compression ?? 0);
}

/** Sets fields of a batch's header, and corrects the checksum. */
export function altered(batch: Buffer, alter: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(batch);
  alter(copy);
  copy.writeUInt32BE(crc32c(copy.subarray(21)), 17);
  return copy;
}

/** An uncompressed batch whose records have these offset deltas. The header stays unchanged. */
export function withDeltas(batch: Buffer, deltas: readonly number[]): Buffer {
  const reader = new RecordReader(batch, RECORDS_AT);
  const records = deltas.flatMap((delta) => {
    reader.next();
    const prefix = Buffer.concat([Buffer.alloc(1), varint(reader.timestampDelta), varint(delta)]);
    const content = reader.bytesFrom(reader.start, reader.end);
    return [varint(prefix.length + content.length), prefix, content];
  });
  return withRecords(batch, Buffer.concat(records), 0);
}

/** A record with its content decoded. */
export type ReadMessage = Pick<
  FetchedRecord,
  "offset" | "timestampMs" | "key" | "value" | "headers" | "isControlRecord" | "batchContext"
>;

export async function decode(records: Buffer): Promise<readonly ReadMessage[]> {
  return (await decodedRecords(records)).map((record) => ({
    offset: record.offset,
    timestampMs: record.timestampMs,
    key: record.key,
    value: record.value,
    headers: record.headers,
    isControlRecord: record.isControlRecord,
    batchContext: record.batchContext,
  }));
}

/** The records in the form that a consumer passes on. */
export async function fetched(
  records: Buffer,
  topic = "t",
  partition = 0,
): Promise<readonly IncomingRecord[]> {
  const messages = await decodedRecords(records);
  return messages.map((message) => recordOf(topic, partition, message));
}

/** The same record in the form that a consumer would pass on. */
export async function asFetched(record: IncomingRecord): Promise<IncomingRecord> {
  const { topic, partition, offset, key, value, headers } = record;
  const batch = await encodeBatch([{ key, value, headers }], { baseOffset: offset });
  const [one] = await fetched(batch, topic, partition);
  if (one === undefined) throw new Error("a batch of one record has none");
  return one;
}

/** Options for reading all records from the first one on. */
export const ALL_WANTED: Wanted = {
  ...{ topic: "t", partition: 0, from: 0, end: Number.POSITIVE_INFINITY },
  recordMaxBytes: Number.POSITIVE_INFINITY,
};

export async function decodedRecords(records: Buffer): Promise<readonly FetchedRecord[]> {
  const messages = await decodeRecords(records, ALL_WANTED);
  return messages as readonly FetchedRecord[];
}
