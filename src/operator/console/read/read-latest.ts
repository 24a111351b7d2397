/**
 * Finds the latest records of a topic that match. Each partition is read backwards in pieces, so that no more of a
 * large topic is read than necessary.
 *
 *   a partition                                     is read further
 *   has nothing older in the time range             no
 *   has been read back to a time after the oldest   yes: an older piece may contain a later record
 *     record that is kept, or too few are found
 *   has been read back to an earlier time           no: everything that remains is older
 *
 * Within a partition, the times of records increase, apart from small differences between clocks.
 */

import type { IncomingRecord } from "../../../domain/record.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { eachInParallel, READ_MAX_BYTES, rangesSince } from "../../connect/partition-ranges.ts";

const FIRST_PIECE = 500;
const PIECE_MAX = 8_000;

interface LatestPorts {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  /** Stops reading. What has been found by then is returned. */
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
}

export interface LatestQuery<Found> {
  readonly topic: string;
  /** The earliest time that is searched. */
  readonly sinceMs: number;
  /** Maximum number of records. */
  readonly most: number;
  /** Returns null if the record does not match. A promise is awaited before the next record is read. */
  readonly find: (record: IncomingRecord) => Found | null | Promise<Found | null>;
}

interface Latest<Found> {
  /** The latest first. */
  readonly found: readonly { readonly atMs: number; readonly value: Found }[];
  /** All records from this time on were searched. */
  readonly sinceMs: number;
  /** Number of records read. */
  readonly looked: number;
  /** True if the signal ended the search before enough records were found, or a corrupt batch was skipped. */
  readonly isCut: boolean;
}

interface LatestRange {
  readonly partition: number;
  readonly from: number;
  /** Everything from this offset on has been read. */
  to: number;
  /** The time of the first record that is read. */
  reachedMs: number;
}

/** Uses no consumer group and commits nothing. @throws the same errors as `Kafka.read`. */
export async function readLatest<Found>(
  { kafka, signal, nowMs }: LatestPorts,
  { topic, sinceMs, most, find }: LatestQuery<Found>,
): Promise<Latest<Found>> {
  const ranges = await rangesSince(kafka.admin, topic, sinceMs);
  const parts = ranges.map(
    (range): LatestRange => ({ ...range, reachedMs: Number.POSITIVE_INFINITY }),
  );
  let found: { readonly atMs: number; readonly value: Found }[] = [];
  let looked = 0;
  let isCorrupt = false;
  const onSkipped = () => {
    isCorrupt = true;
  };
  const readPiece = async (part: LatestRange, size: number) => {
    const [from, to] = [Math.max(part.from, part.to - size), part.to];
    const range = { topic, partition: part.partition, from, to, maxBytes: READ_MAX_BYTES };
    let firstMs: number | null = null;
    for await (const records of kafka.read({ ...range, signal, onSkipped })) {
      for (const record of records) {
        firstMs ??= record.timestampMs;
        if (record.timestampMs < sinceMs) continue;
        const finding = find(record);
        const value = finding instanceof Promise ? await finding : finding;
        if (value !== null) found.push({ atMs: record.timestampMs, value });
      }
      looked += records.length;
    }
    // If a piece was not read to its end, the time that the previously read piece reached still applies.
    if (signal.aborted) return;
    part.to = from;
    part.reachedMs = Math.min(part.reachedMs, firstMs ?? part.reachedMs);
  };
  const result = (isCut: boolean): Latest<Found> => {
    const left = parts.filter((part) => part.to > part.from);
    const reached = left.map(({ reachedMs }) => Math.min(reachedMs, nowMs()));
    return { found, sinceMs: Math.max(sinceMs, ...reached), looked, isCut: isCut || isCorrupt };
  };
  for (let size = FIRST_PIECE; ; size = Math.min(2 * size, PIECE_MAX)) {
    const enoughMs = found[most - 1]?.atMs ?? Number.NEGATIVE_INFINITY;
    const open = parts.filter((part) => part.to > part.from && part.reachedMs > enoughMs);
    if (open.length === 0 || signal.aborted) return result(open.length > 0);
    await eachInParallel(open, async (part) => {
      if (!signal.aborted) await readPiece(part, size);
    });
    found = found.sort((one, other) => other.atMs - one.atMs).slice(0, most);
  }
}
