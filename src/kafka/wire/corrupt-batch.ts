/**
 * Finds where a corrupt batch ends, and represents it in the records that are passed to consumers, so that they can
 * skip it.
 */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";

const NEXT_OFFSET_AT = 0;
const LENGTH_AT = 8;
const MAGIC_AT = 16;
const LAST_DELTA_AT = 23;
const COUNT_AT = 57;
const HEADER_BYTES = 61;

type Offsets = Pick<CorruptBatch, "offset" | "behind" | "isEndKnown">;

/**
 * Finds the offsets of a corrupt batch from the parts of its header and of the following data that can be trusted.
 *
 *   the offset after the batch is the lowest of these above `from` and not after the log end offset
 *     its first offset plus the difference to its last one
 *     the first offset of the batch that follows it in the response
 *   if there is none   the offset after `from`: if that is also in the batch, the broker returns the batch again
 *
 *   that offset is known if the batch starts at or before `from`, and
 *     another batch follows it in the response, or
 *     the difference in the header matches the header's count of records
 *
 * So a wrong header never causes records of other batches to be skipped.
 *
 * @param records the bytes of the response, from the start of the batch on
 * @param from the requested offset
 * @param end the log end offset
 */
export function corruptOffsets(records: Buffer, from: number, end: number): Offsets {
  const read = offsetIn(records, NEXT_OFFSET_AT);
  // Batches start at or before the requested offset, unless compaction has left a gap.
  const offset = read !== null && read >= 0 && read < end ? read : from;
  const isBelieved = (each: number) => each > Math.max(from, offset) && each <= end;
  const stated = statedEnd(records, offset);
  const next = nextBatch(records);
  const candidates = [
    ...(stated === null ? [] : [stated.behind]),
    ...(next === null ? [] : [next]),
  ];
  const believed = candidates.filter(isBelieved);
  const isWitnessed =
    (next !== null && isBelieved(next)) ||
    (stated?.isCounted === true && isBelieved(stated.behind));
  return {
    offset,
    behind: believed.length === 0 ? from + 1 : Math.min(...believed),
    isEndKnown: isWitnessed && offset <= from,
  };
}

function statedEnd(records: Buffer, offset: number) {
  if (records.length < HEADER_BYTES) return null;
  const offsets = records.readInt32BE(LAST_DELTA_AT) + 1;
  return { behind: offset + offsets, isCounted: records.readInt32BE(COUNT_AT) === offsets };
}

function nextBatch(records: Buffer): number | null {
  if (records.length < HEADER_BYTES) return null;
  const start = LENGTH_AT + 4 + records.readInt32BE(LENGTH_AT);
  return records[start + MAGIC_AT] === 2 && start > 0 ? offsetIn(records, start) : null;
}

function offsetIn(records: Buffer, start: number): number | null {
  return records.length - start < 8 ? null : Number(records.readBigInt64BE(start));
}

const corruptIn = new WeakMap<readonly unknown[], CorruptBatch>();

/** An empty list of records, which represents a batch to be skipped. */
export function noRecordsOf(batch: CorruptBatch): readonly unknown[] {
  const none: readonly unknown[] = [];
  corruptIn.set(none, batch);
  return none;
}

/** The corrupt batch that these decoded records represent; null for real records. */
export function corruptInPlaceOf(messages: readonly unknown[]): CorruptBatch | null {
  return corruptIn.get(messages) ?? null;
}
