/** Decodes the records that a Fetch response contains for one partition, and finds where a corrupt batch ends. */

import { CorruptBatchError } from "../../domain/corrupt-batch.ts";
import { corruptOffsets, noRecordsOf } from "./corrupt-batch.ts";
import type { Wanted } from "./decode-batch.ts";
import { decodeRecords, type Inflated } from "./decode-records.ts";
import type { RecordSet } from "./fetch-response.ts";

/** Kafka's error code if the broker cannot read its own log at the offset, because the length of a batch is corrupt. */
export const CORRUPT_MESSAGE = 2;

/** Limits of a reader for one partition. */
export interface FetchPolicy {
  /** A larger compressed record is returned in part (`inflation.ts`). */
  readonly recordMaxBytes: number;
  /** If `true`, a corrupt batch whose end is known is returned without records. Any other one is an error. */
  readonly skipsCorrupt: boolean;
}

type Requested = FetchPolicy & Pick<Wanted, "from" | "comesInPieces">;

/**
 * @param inflated the inflated bytes of the response's other partitions; updated here.
 * @throws CorruptBatchError
 */
export async function decodePartition(
  records: Buffer,
  { topic, partition, end, errorCode }: RecordSet,
  { from, recordMaxBytes, skipsCorrupt, comesInPieces }: Requested,
  inflated?: Inflated,
): Promise<readonly unknown[]> {
  if (errorCode === CORRUPT_MESSAGE) {
    const corruption =
      "the broker itself cannot read the batch, so the end of the batch is unknown";
    const offsets = { offset: from, behind: from + 1, isEndKnown: false };
    throw new CorruptBatchError(corruption, from, { topic, partition, ...offsets, corruption });
  }
  const wanted = { topic, partition, from, end, recordMaxBytes, comesInPieces };
  try {
    return await decodeRecords(records, wanted, inflated);
  } catch (error) {
    if (!(error instanceof CorruptBatchError)) throw error;
    const { corruption } = error;
    const batch = { topic, partition, ...corruptOffsets(records, from, end), corruption };
    if (batch.isEndKnown && skipsCorrupt) return noRecordsOf(batch);
    throw new CorruptBatchError(corruption, batch.offset, batch);
  }
}
