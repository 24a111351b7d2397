/**
 * Decodes a Fetch response's records for one partition, from version 4 (Kafka 0.11) on.
 *
 *   in the response                                  then
 *   whole batches                                    their records
 *   a last batch that the broker has truncated       left for the next fetch; the first batch is
 *                                                    always whole (KIP-74)
 *   a batch that inflates to more than the limit     its first part, from the requested offset on; the next
 *                                                    fetch starts after that
 *   more, after the partition's share is used up     left for the next fetch
 *   a message set of Kafka before 0.11               `message-set.ts` decodes it
 *   anything else                                    `CorruptBatchError` if it is first; after other
 *                                                    batches it is left for the next fetch
 *
 * The limit of a fetch counts compressed bytes, and a kilobyte can inflate to megabytes. So the inflated bytes of all
 * partitions of a response have a common limit, and each partition has an equal share of it. Without shares, a
 * partition that used up the whole limit would be read far ahead of the others. Because batches are decoded completely,
 * a partition can exceed its share at the cost of later partitions. `fetch/source.ts` therefore starts each response at
 * a random partition.
 */

import { CorruptBatchError } from "../../domain/corrupt-batch.ts";
import {
  BATCH_LENGTH_END,
  batchBytes,
  type Decoded,
  decodeBatch,
  magicAt,
  type Wanted,
} from "./decode-batch.ts";
import type { FetchedRecord } from "./fetched-record.ts";
import { PART_MAX_BYTES } from "./inflation.ts";
import { decodeMessageSet } from "./message-set.ts";

/** Position of the difference between a batch's first offset and its last. */
const LAST_DELTA_AT = 23;

/** Maximum inflated bytes of the batches of one response; the last batch may exceed this limit. */
export const INFLATED_FETCH_MAX_BYTES = PART_MAX_BYTES;

/** State while one response is decoded. */
export interface Inflated {
  bytes: number;
  /** The number of partitions whose records are not decoded yet, which share the rest of the limit; 1 if absent. */
  left?: number;
}

/** For each list of decoded records, the end of the batches from which the list was read. */
const endOf = new WeakMap<readonly unknown[], number>();

/**
 * The first offset after the batches of these decoded records. It is not always the offset after the last record,
 * because compaction may remove a batch's last records, or all of them. Null for message sets, and if there was no
 * batch.
 */
export function endOfBatches(messages: readonly unknown[]): number | null {
  return endOf.get(messages) ?? null;
}

/**
 * @param records all bytes of records that the response contains for one partition
 * @param inflated the inflated bytes of the response's other partitions; updated here
 */
export async function decodeRecords(
  records: Buffer,
  wanted: Wanted,
  inflated: Inflated = { bytes: 0 },
): Promise<readonly unknown[]> {
  if (records.length === 0) return [];
  const messages: FetchedRecord[] = [];
  const inflatedMax = shareOf(inflated);
  let start = 0;
  let next = wanted.from;
  for (;;) {
    if (inflated.bytes > inflatedMax) return messages;
    const bytes = batchBytes(records, start);
    if (bytes !== null && bytes < BATCH_LENGTH_END) {
      if (start > 0) return messages;
      throw new CorruptBatchError(
        `its length is ${bytes - BATCH_LENGTH_END}`,
        offsetAt(records, start),
      );
    }
    const isCut = bytes === null || start + bytes > records.length;
    if (isCut && start > 0) return messages;
    const magic = magicAt(records, start);
    if (magic === null || magic > 2) {
      if (start > 0) return messages;
      throw new CorruptBatchError(`its version is ${magic ?? "cut off"}`, offsetAt(records, start));
    }
    if (magic !== 2) {
      // Older messages precede batches. Anything after the messages is left for the next fetch.
      return messages.length > 0 ? messages : decodeMessageSet(records);
    }
    if (isCut) {
      const corruption = `it declares ${bytes} bytes but has ${records.length}`;
      throw new CorruptBatchError(corruption, offsetAt(records, start));
    }
    const batch = records.subarray(start, start + bytes);
    const end = offsetAt(records, start) + records.readInt32BE(start + LAST_DELTA_AT) + 1;
    const whole = messages.length;
    let decoded: Decoded;
    try {
      decoded = await decodeBatch(batch, messages, wanted);
      // Checked here because the checksum does not cover the first offset.
      if (end > wanted.end && !goesOn(offsetAt(records, start), end, next)) {
        throw behindTheEnd(end, wanted.end, offsetAt(records, start));
      }
    } catch (error) {
      if (start === 0 || !(error instanceof CorruptBatchError)) throw error;
      // The batches before the corrupt one are passed on first, so that the group commits up to it.
      messages.length = whole;
      return messages;
    }
    inflated.bytes += decoded.inflatedBytes;
    next = end;
    endOf.set(messages, decoded.next ?? end);
    if (decoded.next !== null) return messages;
    start += bytes;
    if (start === records.length) return messages;
  }
}

/** The maximum number of bytes that may be inflated by the end of this partition, including the previous partitions. */
function shareOf(inflated: Inflated): number {
  const { bytes, left = 1 } = inflated;
  inflated.left = Math.max(1, left - 1);
  return bytes + (INFLATED_FETCH_MAX_BYTES - bytes) / left;
}

/**
 * `true` if the batch continues at the next offset. Batches at or above the log end offset are possible, because a
 * broker determines that offset before it reads, and batches may be appended in between.
 */
function goesOn(first: number, end: number, next: number): boolean {
  return first <= next && next < end;
}

function behindTheEnd(end: number, partitionEnd: number, offset: number): CorruptBatchError {
  const corruption = `its last offset is ${end - 1}, and the partition ends before ${partitionEnd}`;
  return new CorruptBatchError(corruption, offset);
}

function offsetAt(records: Buffer, start: number): number {
  return records.length - start < 8 ? -1 : Number(records.readBigInt64BE(start));
}
