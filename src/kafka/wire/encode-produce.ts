/**
 * Encodes a Produce request, version 3, into one buffer that is allocated once: everything is
 * measured first. Versions 4 to 7 have the same fields.
 */

import { zstdCompressSync } from "node:zlib";
import { crc32c } from "@node-rs/crc32";
import {
  type MeasuredRecords,
  measureRecords,
  type OutgoingMessage,
  type SharedHeaders,
  writeRecords,
} from "./encode-records.ts";

/** Bytes of a record batch before its records. */
const BATCH_HEADER_BYTES = 61;
/** Bytes of the header that the batch's length does not include: the base offset and the length itself. */
const BATCH_LENGTH_END = 12;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const MAGIC = 2;
/**
 * Batch attributes: timestamps are set by the producer, and there is no transaction. `COMPRESSED` means compression
 * with zstd.
 */
const PLAIN = 0;
const COMPRESSED = 4;
/** The length that encodes null, for the transactional ID. */
const NO_STRING = -1;

export interface ProduceRequest {
  readonly acks: number;
  readonly timeout: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionBatch[];
  }[];
}

interface PartitionBatch {
  readonly partition: number;
  readonly messages: readonly OutgoingMessage[];
  readonly producerId: string | number;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  /** The timestamp of records that have none. */
  readonly nowMs: number;
}

interface MeasuredBatch {
  readonly data: PartitionBatch;
  readonly measured: MeasuredRecords;
}

/** The encoded request without its frame. */
export function encodeProduce(request: ProduceRequest): Buffer {
  const shared: SharedHeaders = new Map();
  const topics: { readonly name: Buffer; readonly batches: readonly MeasuredBatch[] }[] = [];
  let bytes = 2 + 2 + 4 + 4;
  for (const { topic, partitions } of request.topicData) {
    const batches: MeasuredBatch[] = [];
    const name = Buffer.from(topic);
    bytes += 2 + name.length + 4;
    for (const data of partitions) {
      const measured = measureRecords(data.messages, data.nowMs, shared);
      bytes += 4 + 4 + BATCH_HEADER_BYTES + measured.totalBytes;
      batches.push({ data, measured });
    }
    topics.push({ name, batches });
  }

  const target = Buffer.allocUnsafe(bytes);
  let at = target.writeInt16BE(NO_STRING, 0);
  at = target.writeInt16BE(request.acks, at);
  at = target.writeInt32BE(request.timeout, at);
  at = target.writeInt32BE(topics.length, at);
  for (const { name, batches } of topics) {
    at = target.writeInt16BE(name.length, at);
    target.set(name, at);
    at = target.writeInt32BE(batches.length, at + name.length);
    for (const batch of batches) {
      at = target.writeInt32BE(batch.data.partition, at);
      at = writeBatch(target, at, batch, shared);
    }
  }
  return target;
}

/** Writes the batch with its length in front, and returns the position after it. */
function writeBatch(
  target: Buffer,
  sizeAt: number,
  { data, measured }: MeasuredBatch,
  shared: SharedHeaders,
): number {
  const start = sizeAt + 4;
  const count = measured.messages.length;
  // The broker fills in the base offset and the leader epoch.
  target.writeBigInt64BE(0n, start);
  target.writeInt32BE(0, start + BATCH_LENGTH_END);
  target.writeInt8(MAGIC, start + 16);
  target.writeInt16BE(measured.isCompressed ? COMPRESSED : PLAIN, start + ATTRIBUTES_AT);
  target.writeInt32BE(count - 1, start + 23);
  target.writeBigInt64BE(BigInt(measured.firstTimestampMs), start + 27);
  target.writeBigInt64BE(BigInt(measured.maxTimestampMs), start + 35);
  target.writeBigInt64BE(BigInt(data.producerId), start + 43);
  target.writeInt16BE(data.producerEpoch, start + 51);
  target.writeInt32BE(data.firstSequence, start + 53);
  target.writeInt32BE(count, start + 57);
  const end = writeRecords(target, start + BATCH_HEADER_BYTES, measured, shared);
  target.writeInt32BE(end - start, sizeAt);
  target.writeInt32BE(end - start - BATCH_LENGTH_END, start + 8);
  target.writeUInt32BE(crc32c(target.subarray(start + ATTRIBUTES_AT, end)), start + CRC_AT);
  return end;
}

/** Encodes a record as the compressed content of a batch that contains only this record. */
export function compressRecord(message: OutgoingMessage): Buffer {
  const shared = new Map();
  // The record's time is in the batch header, which is written for each attempt.
  const measured = measureRecords([message], 0, shared);
  const records = Buffer.allocUnsafe(measured.totalBytes);
  writeRecords(records, 0, measured, shared);
  return zstdCompressSync(records);
}
