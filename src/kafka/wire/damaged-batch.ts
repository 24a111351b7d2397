import type { DamagedBatch } from "../../domain/damaged-batch.ts";

/**
 * A record batch that is not what its producer wrote. It stops the consumer: skipping it would
 * lose records, and reading on would deliver wrong ones.
 */
export class DamagedBatchError extends Error {
  override readonly name = "DamagedBatchError";
  /** kafkajs must neither repeat the fetch nor restart the consumer by itself. */
  readonly retriable = false;
  readonly damage: string;
  /** Of the batch's first record, as far as it can be read. */
  readonly offset: number;
  /** Null until the fetch response has been searched for it. */
  readonly at: DamagedBatch | null;
  readonly topic: string | null;
  readonly partition: number | null;

  constructor(damage: string, offset: number, at: DamagedBatch | null = null) {
    const where = at === null ? "" : `topic ${at.topic}, partition ${at.partition}, `;
    const command =
      at === null ? "" : `: switchyard skip-damaged ${at.topic} ${at.partition} ${offset}`;
    super(
      `The record batch at ${where}offset ${offset} is damaged: ${damage}. Restore the partition from an intact replica, or give the batch's records up${command}`,
    );
    this.damage = damage;
    this.offset = offset;
    this.at = at;
    this.topic = at?.topic ?? null;
    this.partition = at?.partition ?? null;
  }
}

/** The damaged batch because of which something has failed; null: something else is the reason. */
export function damagedBatchOf(error: unknown): DamagedBatch | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (each instanceof DamagedBatchError && each.at !== null) return each.at;
    each = each.cause;
  }
  return null;
}

const NEXT_OFFSET_AT = 0;
const LENGTH_AT = 8;
const MAGIC_AT = 16;
const LAST_DELTA_AT = 23;
const HEADER_BYTES = 61;

/**
 * The offsets of a damaged batch, as far as its header and what follows it can be believed.
 *
 *   behind the batch is the lowest of these that lies above `from` and is not behind the end
 *     its first offset and the difference to its last one
 *     the first offset of the batch that follows it in the answer
 *   none does   the next offset: the broker gives the batch again when it holds that one, too
 *
 * So a header that lies never takes records of other batches along.
 *
 * @param records begins with the batch
 * @param from the offset that was asked for
 * @param end the partition's end
 */
export function damagedOffsets(
  records: Buffer,
  from: number,
  end: number,
): { readonly offset: number; readonly behind: number } {
  const read = offsetIn(records, NEXT_OFFSET_AT);
  // Batches begin at or before the offset that was asked for, unless compaction has left a gap.
  const offset = read !== null && read >= 0 && read < end ? read : from;
  const candidates: number[] = [];
  if (records.length >= HEADER_BYTES) {
    candidates.push(offset + records.readInt32BE(LAST_DELTA_AT) + 1);
  }
  const next = nextBatch(records);
  if (next !== null) candidates.push(next);
  const believed = candidates.filter((each) => each > Math.max(from, offset) && each <= end);
  return { offset, behind: Math.min(...believed, ...(believed.length === 0 ? [from + 1] : [])) };
}

function nextBatch(records: Buffer): number | null {
  if (records.length < HEADER_BYTES) return null;
  const start = LENGTH_AT + 4 + records.readInt32BE(LENGTH_AT);
  return records[start + MAGIC_AT] === 2 && start > 0 ? offsetIn(records, start) : null;
}

function offsetIn(records: Buffer, start: number): number | null {
  return records.length - start < 8 ? null : Number(records.readBigInt64BE(start));
}
