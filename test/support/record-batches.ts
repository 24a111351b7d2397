// Record batches for the tests of the decoder, and the decoder without kafkajs around it.

import { crc32c } from "@node-rs/crc32";

import type { IncomingRecord } from "../../src/domain/record.ts";
import { CODECS } from "../../src/kafka/codecs.ts";
import type { LookupCodec } from "../../src/kafka/decode-batch.ts";
import { decodeRecords } from "../../src/kafka/decode-fetch.ts";
import { encodeProduce } from "../../src/kafka/encode-produce.ts";
import type { EncodableMessage } from "../../src/kafka/encode-records.ts";
import { type FetchedRecord, recordOf } from "../../src/kafka/message.ts";

export const lookupCodec: LookupCodec = (type) =>
  type in CODECS ? CODECS[type as keyof typeof CODECS] : null;

/** The batch that the encoder writes for the messages. */
export async function encodeBatch(
  messages: readonly EncodableMessage[],
  options: { readonly compression?: number; readonly baseOffset?: number } = {},
): Promise<Buffer> {
  const produce = {
    acks: -1,
    timeout: 1000,
    compression: options.compression ?? 0,
    topicData: [{ topic: "t", partitions: [{ partition: 0, messages }] }],
  };
  const request = await encodeProduce(produce, 1_700_000_000_000, lookupCodec);
  // Transactional id, acks, timeout; one topic "t"; one partition; its number and its size.
  const batch = request.subarray(2 + 2 + 4 + 4 + 3 + 4 + 4 + 4);
  batch.writeBigInt64BE(BigInt(options.baseOffset ?? 0), 0);
  return batch;
}

/** Sets fields of a batch's header and makes its checksum right again. */
export function altered(batch: Buffer, alter: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(batch);
  alter(copy);
  copy.writeUInt32BE(crc32c(copy.subarray(21)), 17);
  return copy;
}

/** A record with what it says decoded. */
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

/** The records as a consumer hands them over. */
export async function fetched(
  records: Buffer,
  topic = "t",
  partition = 0,
): Promise<readonly IncomingRecord[]> {
  const messages = await decodedRecords(records);
  return messages.map((message) => recordOf(topic, partition, message as never));
}

/** The same record as a consumer would hand it over. */
export async function asFetched(record: IncomingRecord): Promise<IncomingRecord> {
  const { topic, partition, offset, key, value, headers } = record;
  const batch = await encodeBatch([{ key, value, headers }], { baseOffset: offset });
  const [one] = await fetched(batch, topic, partition);
  if (one === undefined) throw new Error("a batch of one record has none");
  return one;
}

async function decodedRecords(records: Buffer): Promise<readonly FetchedRecord[]> {
  const unexpected = () => Promise.reject(new Error("taken for an old message set"));
  const messages = await decodeRecords(records, lookupCodec, unexpected);
  return messages as readonly FetchedRecord[];
}
