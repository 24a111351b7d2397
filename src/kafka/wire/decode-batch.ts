/**
 * Decodes one record batch (magic 2) in one pass. The content of the records stays encoded. A wrong CRC-32C or an
 * invalid length causes a `CorruptBatchError`.
 */

import { crc32c } from "@node-rs/crc32";
import { CorruptBatchError } from "../../domain/corrupt-batch.ts";
import { codecOf } from "./codecs.ts";
import { FetchedRecord, type RecordBatch } from "./fetched-record.ts";
import { inflatePart, PART_MAX_BYTES } from "./inflation.ts";
import { RECORD_OBJECT_BYTES, type RecordsPart } from "./kept-records.ts";
import { RecordReader } from "./record-reader.ts";

/** Base offset and length: the bytes needed to know where the batch ends. */
export const BATCH_LENGTH_END = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const LAST_DELTA_AT = 23;
const COUNT_AT = 57;
const RECORDS_AT = 61;

const CODEC_MASK = 0x07;
const LOG_APPEND_TIME = 0x08;
const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;

/** The size in bytes of the batch that starts at `start`, or null if its length cannot be read. */
export function batchBytes(buffer: Buffer, start: number): number | null {
  if (buffer.length - start < BATCH_LENGTH_END) return null;
  return BATCH_LENGTH_END + buffer.readInt32BE(start + 8);
}

/** The batch's magic byte, or null if it is truncated. In message sets of Kafka before 0.11, the byte is 0 or 1. */
export function magicAt(buffer: Buffer, start: number): number | null {
  return buffer[start + MAGIC_AT] ?? null;
}

/** The options for decoding the records of one partition. */
export interface Wanted {
  readonly topic: string;
  readonly partition: number;
  /** The requested offset. A batch may start before this offset. */
  readonly from: number;
  /** The log end offset. */
  readonly end: number;
  /** Only a part of a compressed record that is larger than this is read (`inflation.ts`). */
  readonly recordMaxBytes: number;
  /** Called before a batch is inflated in pieces, which may take seconds. */
  readonly comesInPieces?: (() => void) | undefined;
}

export interface Decoded {
  /** Bytes that the messages keep in memory, in addition to the batch itself. */
  readonly inflatedBytes: number;
  /** The offset at which to continue if only a part of the batch was read, otherwise null. */
  readonly next: number | null;
}

/**
 * @param batch exactly one batch. Its messages are added to `messages`. If they do not all fit in memory, only those
 * from `wanted.from` on that fit are added.
 */
export async function decodeBatch(
  batch: Buffer,
  messages: FetchedRecord[],
  wanted: Wanted,
): Promise<Decoded> {
  const baseOffset = int64(batch, 0);
  if (batch.length < RECORDS_AT) {
    throw new CorruptBatchError(
      `it has ${batch.length} bytes, fewer than its header needs`,
      baseOffset,
    );
  }
  const expected = batch.readUInt32BE(CRC_AT);
  const actual = crc32c(batch.subarray(ATTRIBUTES_AT));
  if (actual !== expected) {
    throw new CorruptBatchError(
      `its checksum should be ${expected.toString(16)}, but is ${actual.toString(16)}`,
      baseOffset,
    );
  }
  const { records, start, count, omitted, next } = await inflate(batch, baseOffset, wanted);
  const read = readHeader(batch, baseOffset, new RecordReader(records, start), omitted);
  const before = messages.length;
  try {
    readRecords(read, count, batch.readInt32BE(LAST_DELTA_AT), messages);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const corruption = `record ${messages.length - before + 1} of ${count} has ${error.message}`;
    throw new CorruptBatchError(corruption, baseOffset);
  }
  const inflatedBytes = records === batch ? 0 : records.length;
  if (next !== null) return { inflatedBytes, next: baseOffset + next };
  return { inflatedBytes, next: null };
}

function readHeader(
  batch: Buffer,
  firstOffset: number,
  reader: RecordReader,
  omitted: RecordsPart["omitted"] | null,
): RecordBatch {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  return {
    reader,
    firstOffset,
    firstTimestampMs: int64(batch, 27),
    maxTimestampMs: int64(batch, 35),
    isStamped: (attributes & LOG_APPEND_TIME) !== 0,
    producerId: `${int64(batch, 43)}`,
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch: (attributes & CONTROL) !== 0,
    omitted,
    topic: "",
    partition: 0,
  };
}

interface Inflated {
  readonly records: Buffer;
  readonly start: number;
  readonly count: number;
  readonly omitted: RecordsPart["omitted"] | null;
  readonly next: number | null;
}

async function inflate(batch: Buffer, baseOffset: number, wanted: Wanted): Promise<Inflated> {
  const type = batch.readInt16BE(ATTRIBUTES_AT) & CODEC_MASK;
  const count = batch.readInt32BE(COUNT_AT);
  const plain = { start: 0, count, omitted: null, next: null };
  if (type === 0) return { ...plain, records: batch, start: RECORDS_AT };
  const codec = codecOf(type);
  if (codec === null) {
    throw new CorruptBatchError(
      `its compression type is ${type}, which does not exist`,
      baseOffset,
    );
  }
  // Compaction may leave a batch without records, which has no compressed data.
  if (batch.length === RECORDS_AT) return { ...plain, records: batch, start: RECORDS_AT };
  const compressed = batch.subarray(RECORDS_AT);
  try {
    const objectBytes = Math.max(0, count) * RECORD_OBJECT_BYTES;
    if (objectBytes < PART_MAX_BYTES) {
      const maxBytes = PART_MAX_BYTES - objectBytes;
      // What it rejects may follow the records, and is then never reached in pieces.
      const records = await codec.decompress(compressed, maxBytes).catch(() => null);
      if (records !== null) return { ...plain, records };
    }
    const { topic, partition, from, recordMaxBytes } = wanted;
    const key = `${topic}/${partition}/${baseOffset}/${batch.readUInt32BE(CRC_AT)}`;
    const part = { key, type, compressed, count, recordMaxBytes };
    wanted.comesInPieces?.();
    return { start: 0, ...(await inflatePart(part, Math.max(0, from - baseOffset))) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CorruptBatchError(`its records cannot be decompressed (${why})`, baseOffset);
  }
}

/**
 * Brokers check the offset deltas of compressed records only, so any producer can write wrong ones. With these, the
 * offsets of other producers' records would be skipped. So a delta counts only if it is above the previous record's, and
 * leaves an offset of the batch for each record that follows. Unless compaction has removed records, this is the record's
 * index.
 */
function readRecords(
  batch: RecordBatch,
  count: number,
  lastDelta: number,
  messages: FetchedRecord[],
): void {
  const { reader, firstOffset } = batch;
  let delta = -1;
  for (let left = count - 1; left >= 0; left -= 1) {
    reader.next();
    const { offsetDelta, timestampDelta, start, end } = reader;
    delta = Math.max(delta + 1, Math.min(offsetDelta, lastDelta - left));
    messages.push(new FetchedRecord(batch, firstOffset + delta, timestampDelta, start, end));
  }
}

/** Reads a 64-bit integer; exact below 2^53. */
function int64(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at) * 2 ** 32 + buffer.readUInt32BE(at + 4);
}
