/**
 * Decodes one record batch (magic 2) in one pass, as kafkajs' consumer wants its messages, but
 * with what they say still encoded. Differs from kafkajs' own decoder also in that
 *
 *   the CRC-32C is checked               a wrong one is a `DamagedBatchError`
 *   lengths are checked                  likewise
 *   offsets that compaction has removed from the batch's end
 *                                        stand as one control record, which kafkajs keeps to
 *                                        itself: its position moves past the batch that way
 *
 * kafkajs would ask for a batch without records again and again, as fast as the broker answers.
 */

import { crc32c } from "@node-rs/crc32";

import { DamagedBatchError } from "./damaged-batch.ts";
import type { Codec } from "./encode-produce.ts";
import { FetchedRecord, REMOVED, type RecordBatch } from "./message.ts";
import { RecordReader } from "./record-reader.ts";

/** Base offset and length: what must be there to know where the batch ends. */
export const BATCH_LENGTH_END = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const RECORDS_AT = 61;

const CODEC_MASK = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

export type LookupCodec = (type: number) => Codec | null;

/** Bytes of the batch that begins at `start`, or null when its length cannot be read. */
export function batchBytes(buffer: Buffer, start: number): number | null {
  if (buffer.length - start < BATCH_LENGTH_END) return null;
  return BATCH_LENGTH_END + buffer.readInt32BE(start + 8);
}

/** The batch's magic byte, or null when it is cut off. Message sets of Kafka before 0.11 have 0 or 1. */
export function magicAt(buffer: Buffer, start: number): number | null {
  return buffer[start + MAGIC_AT] ?? null;
}

/**
 * @param batch exactly one batch. Its messages are added to `messages`.
 * @returns the bytes that it was inflated to, 0 when it was not compressed: the messages keep them.
 */
export async function decodeBatch(
  batch: Buffer,
  lookupCodec: LookupCodec,
  messages: FetchedRecord[],
): Promise<number> {
  const baseOffset = int64(batch, 0);
  if (batch.length < RECORDS_AT) {
    throw new DamagedBatchError(`it has ${batch.length} bytes, fewer than its header`, baseOffset);
  }
  const expected = batch.readUInt32BE(CRC_AT);
  const actual = crc32c(batch.subarray(ATTRIBUTES_AT));
  if (actual !== expected) {
    throw new DamagedBatchError(
      `its checksum should be ${expected.toString(16)} and is ${actual.toString(16)}`,
      baseOffset,
    );
  }
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  const { records, start } = await inflate(batch, attributes & CODEC_MASK, baseOffset, lookupCodec);
  const read = readHeader(batch, baseOffset, new RecordReader(records, start));
  const count = batch.readInt32BE(57);
  const before = messages.length;
  try {
    readRecords(read, count, messages);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const damage = `record ${messages.length - before + 1} of ${count} has ${error.message}`;
    throw new DamagedBatchError(damage, baseOffset);
  }
  const { lastOffset } = read;
  if (messages.length === before || messages.at(-1)?.offset !== lastOffset) {
    messages.push(new FetchedRecord(read, lastOffset, 0, REMOVED, REMOVED));
  }
  return records === batch ? 0 : records.length;
}

function readHeader(batch: Buffer, firstOffset: number, reader: RecordReader): RecordBatch {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  return {
    reader,
    firstOffset,
    lastOffset: firstOffset + batch.readInt32BE(23),
    firstTimestampMs: int64(batch, 27),
    maxTimestampMs: int64(batch, 35),
    isStamped: (attributes & LOG_APPEND_TIME) !== 0,
    producerId: `${int64(batch, 43)}`,
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch: (attributes & CONTROL) !== 0,
    topic: "",
    partition: 0,
  };
}

async function inflate(
  batch: Buffer,
  type: number,
  baseOffset: number,
  lookupCodec: LookupCodec,
): Promise<{ readonly records: Buffer; readonly start: number }> {
  if (type === 0) return { records: batch, start: RECORDS_AT };
  const codec = lookupCodec(type);
  if (codec === null) {
    throw new DamagedBatchError(`it names compression ${type}, which does not exist`, baseOffset);
  }
  // Compaction leaves batches without records and without anything compressed.
  if (batch.length === RECORDS_AT) return { records: batch, start: RECORDS_AT };
  try {
    return { records: await codec.decompress(batch.subarray(RECORDS_AT)), start: 0 };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DamagedBatchError(`its records cannot be decompressed (${why})`, baseOffset);
  }
}

function readRecords(batch: RecordBatch, count: number, messages: FetchedRecord[]): void {
  const { reader, firstOffset } = batch;
  for (let index = 0; index < count; index += 1) {
    reader.next();
    const { offsetDelta, timestampDelta, start, end } = reader;
    messages.push(new FetchedRecord(batch, firstOffset + offsetDelta, timestampDelta, start, end));
  }
}

/** Exact below 2^53. */
function int64(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at) * 2 ** 32 + buffer.readUInt32BE(at + 4);
}
