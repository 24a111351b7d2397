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
import { type EncodedContent, RecordReader } from "./record-reader.ts";

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

/** As kafkajs has it; numbers beyond 32 bits are text. */
interface BatchContext {
  readonly firstOffset: string;
  readonly firstTimestamp: string;
  readonly partitionLeaderEpoch: number;
  readonly inTransaction: boolean;
  readonly isControlBatch: boolean;
  readonly lastOffsetDelta: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly maxTimestamp: string;
  readonly timestampType: 0 | 1;
  readonly magicByte: 2;
}

/** Has the fields of kafkajs' messages. */
export class DecodedMessage {
  readonly magicByte = 2;
  readonly attributes = 0;
  readonly timestamp: string;
  readonly offset: string;
  /** Where kafkajs has an object of them. Null for records that stand for removed ones. */
  readonly headers: EncodedContent | null;
  readonly batchContext: BatchContext;

  constructor(
    offset: string,
    timestamp: string,
    content: EncodedContent | null,
    batchContext: BatchContext,
  ) {
    this.timestamp = timestamp;
    this.offset = offset;
    this.headers = content;
    this.batchContext = batchContext;
  }

  get key(): Buffer | null {
    return this.headers?.key ?? null;
  }

  get value(): Buffer | null {
    return this.headers?.value ?? null;
  }

  get isControlRecord(): boolean {
    return this.headers === null || this.batchContext.isControlBatch;
  }
}

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

/** @param batch exactly one batch. Its messages are added to `messages`. */
export async function decodeBatch(
  batch: Buffer,
  lookupCodec: LookupCodec,
  messages: DecodedMessage[],
): Promise<void> {
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
  const context = readContext(batch, baseOffset);
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  const { records, start } = await inflate(batch, attributes & CODEC_MASK, baseOffset, lookupCodec);
  const count = batch.readInt32BE(57);
  const before = messages.length;
  try {
    readRecords(new RecordReader(records, start), count, context, messages);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const damage = `record ${messages.length - before + 1} of ${count} has ${error.message}`;
    throw new DamagedBatchError(damage, baseOffset);
  }
  const lastOffset = `${baseOffset + context.lastOffsetDelta}`;
  if (messages.length === before || messages.at(-1)?.offset !== lastOffset) {
    messages.push(removedRecords(lastOffset, context));
  }
}

function readContext(batch: Buffer, baseOffset: number): BatchContext {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  return {
    firstOffset: `${baseOffset}`,
    firstTimestamp: `${int64(batch, 27)}`,
    partitionLeaderEpoch: batch.readInt32BE(12),
    inTransaction: (attributes & TRANSACTIONAL) !== 0,
    isControlBatch: (attributes & CONTROL) !== 0,
    lastOffsetDelta: batch.readInt32BE(23),
    producerId: `${int64(batch, 43)}`,
    producerEpoch: batch.readInt16BE(51),
    firstSequence: batch.readInt32BE(53),
    maxTimestamp: `${int64(batch, 35)}`,
    timestampType: (attributes & LOG_APPEND_TIME) === 0 ? 0 : 1,
    magicByte: 2,
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

function readRecords(
  reader: RecordReader,
  count: number,
  batchContext: BatchContext,
  messages: DecodedMessage[],
): void {
  const { maxTimestamp, timestampType } = batchContext;
  const firstOffset = Number(batchContext.firstOffset);
  const firstTimestampMs = Number(batchContext.firstTimestamp);
  for (let index = 0; index < count; index += 1) {
    const { timestampDelta, offsetDelta, content } = reader.record();
    const offset = `${firstOffset + offsetDelta}`;
    const timestamp = timestampType === 1 ? maxTimestamp : `${firstTimestampMs + timestampDelta}`;
    messages.push(new DecodedMessage(offset, timestamp, content, batchContext));
  }
}

function removedRecords(offset: string, batchContext: BatchContext): DecodedMessage {
  return new DecodedMessage(offset, batchContext.maxTimestamp, null, batchContext);
}

/** Exact below 2^53. */
function int64(buffer: Buffer, at: number): number {
  return buffer.readInt32BE(at) * 2 ** 32 + buffer.readUInt32BE(at + 4);
}
