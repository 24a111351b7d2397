/** The parts of partitions that commands and the console read, and how they are read in parallel. */

import type { Admin, PartitionOffset, PartitionOffsets } from "../../kafka/port.ts";

/** Maximum size of one fetch. */
export const READ_MAX_BYTES = 1_048_576;
/** The clocks of brokers, producers and stages are assumed to differ by less than this. */
export const CLOCK_MARGIN_MS = 300_000;
/** Number of partitions that are read in parallel. */
const AT_ONCE = 16;

/** A part of one partition. */
export interface PartitionRange {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/**
 * The ranges from the first record at or after `sinceMs` to the current end of each partition.
 * @param sinceMs null to start at the first record.
 */
export async function rangesSince(
  admin: Pick<Admin, "offsets" | "offsetsAt">,
  topic: string,
  sinceMs: number | null,
): Promise<readonly PartitionRange[]> {
  const offsets = await admin.offsets(topic);
  const starts = sinceMs === null ? [] : await admin.offsetsAt(topic, Math.max(0, sinceMs));
  return rangesFrom(offsets, starts);
}

/** The ranges from the given offsets to the ends; from the first record of a partition that has no such offset. */
export function rangesFrom(
  offsets: readonly PartitionOffsets[],
  starts: readonly PartitionOffset[],
): readonly PartitionRange[] {
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, offset]));
  return offsets.map(({ partition, first, end }) => {
    return { partition, from: Math.min(end, startOf.get(partition) ?? first), to: end };
  });
}

/** Rejects with the first error of `work`. */
export async function eachInParallel<Part>(
  parts: readonly Part[],
  work: (part: Part) => Promise<void>,
): Promise<void> {
  const rest = parts.values();
  const workers = Array.from({ length: Math.min(AT_ONCE, parts.length) }, async () => {
    for (const part of rest) await work(part);
  });
  await Promise.all(workers);
}
