/** Where a corrupt batch ends, and how it is passed on to those who skip it. */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";

const NEXT_OFFSET_AT = 0;
const LENGTH_AT = 8;
const MAGIC_AT = 16;
const LAST_DELTA_AT = 23;
const COUNT_AT = 57;
const HEADER_BYTES = 61;

type Offsets = Pick<CorruptBatch, "offset" | "behind" | "isEndKnown">;

/**
 * The offsets of a corrupt batch, as far as its header and what follows it can be believed.
 *
 *   behind the batch is the lowest of these that lies above `from` and is not behind the end
 *     its first offset and the difference to its last one
 *     the first offset of the batch that follows it in the answer
 *   none does   the next offset: the broker gives the batch again when it holds that one, too
 *
 *   that is known when the batch begins at or before `from`, and
 *     another batch follows it in the answer, or
 *     the header's difference agrees with its count of records
 *
 * So a header that lies never takes records of other batches along.
 *
 * @param records begins with the batch
 * @param from the offset that was asked for
 * @param end the partition's end
 */
export function corruptOffsets(records: Buffer, from: number, end: number): Offsets {
  const read = offsetIn(records, NEXT_OFFSET_AT);
  // Batches begin at or before the offset that was asked for, unless compaction has left a gap.
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

/** No records, in place of those of a batch that is to be passed. */
export function noRecordsOf(batch: CorruptBatch): readonly unknown[] {
  const none: readonly unknown[] = [];
  corruptIn.set(none, batch);
  return none;
}

/** The corrupt batch that these decoded records stand for; null: they are what they are. */
export function corruptInPlaceOf(messages: readonly unknown[]): CorruptBatch | null {
  return corruptIn.get(messages) ?? null;
}
