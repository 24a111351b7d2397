/**
 * The latest records of a topic that somebody wants, found from its end backwards, a piece at a time,
 * so that no more of a large topic is read than has to be.
 *
 *   a partition                                      is read on
 *   has nothing older in the time                    no
 *   begins later than the last one that is wanted,   yes: an older piece of it may have a later one
 *     or too few are found
 *   begins earlier than that                         no: all that is left is older
 *
 * Times of records rise within a partition, but for clocks that differ a little.
 */

import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";

const READ_MAX_BYTES = 1_048_576;
const FIRST_PIECE = 500;
const PIECE_MAX = 8_000;
const AT_ONCE = 16;

interface LatestPorts {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  /** Ends reading: what is found by then is told. */
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
}

export interface LatestQuery<Found> {
  readonly topic: string;
  /** The first instant that is looked at. */
  readonly sinceMs: number;
  /** How many are wanted at most. */
  readonly most: number;
  /** Null: it is not wanted. A promise is waited for before the next record. */
  readonly find: (record: IncomingRecord) => Found | null | Promise<Found | null>;
}

interface Latest<Found> {
  /** The latest first. */
  readonly found: readonly { readonly atMs: number; readonly value: Found }[];
  /** All since then was looked at. */
  readonly sinceMs: number;
  /** Records that were looked at. */
  readonly looked: number;
  /** Whether the signal ended it before enough was found. */
  readonly isCut: boolean;
}

interface Part {
  readonly partition: number;
  readonly from: number;
  /** Everything from here on is read. */
  to: number;
  /** The time of the first record that is read. */
  reachedMs: number;
}

/** Belongs to no group and commits nothing. @throws Error as `Kafka.read` does. */
export async function readLatest<Found>(
  { kafka, signal, nowMs }: LatestPorts,
  { topic, sinceMs, most, find }: LatestQuery<Found>,
): Promise<Latest<Found>> {
  const parts = await partsOf(kafka, topic, sinceMs);
  let found: { readonly atMs: number; readonly value: Found }[] = [];
  let looked = 0;
  const readPiece = async (part: Part, size: number) => {
    const [from, to] = [Math.max(part.from, part.to - size), part.to];
    const range = { topic, partition: part.partition, from, to, maxBytes: READ_MAX_BYTES, signal };
    let firstMs: number | null = null;
    for await (const records of kafka.read(range)) {
      for (const record of records) {
        firstMs ??= record.timestampMs;
        if (record.timestampMs < sinceMs) continue;
        const finding = find(record);
        const value = finding instanceof Promise ? await finding : finding;
        if (value !== null) found.push({ atMs: record.timestampMs, value });
      }
      looked += records.length;
    }
    // A piece that was not read to its end leaves the time of the one after it.
    if (signal.aborted) return;
    part.to = from;
    part.reachedMs = Math.min(part.reachedMs, firstMs ?? part.reachedMs);
  };
  const result = (isCut: boolean): Latest<Found> => {
    const left = parts.filter((part) => part.to > part.from);
    const reached = left.map(({ reachedMs }) => Math.min(reachedMs, nowMs()));
    return { found, sinceMs: Math.max(sinceMs, ...reached), looked, isCut };
  };
  for (let size = FIRST_PIECE; ; size = Math.min(2 * size, PIECE_MAX)) {
    const enoughMs = found[most - 1]?.atMs ?? Number.NEGATIVE_INFINITY;
    const open = parts.filter((part) => part.to > part.from && part.reachedMs > enoughMs);
    if (open.length === 0 || signal.aborted) return result(open.length > 0);
    const rest = open.values();
    const workers = Array.from({ length: Math.min(AT_ONCE, open.length) }, async () => {
      for (const part of rest) if (!signal.aborted) await readPiece(part, size);
    });
    await Promise.all(workers);
    found = found.sort((one, other) => other.atMs - one.atMs).slice(0, most);
  }
}

async function partsOf(kafka: LatestPorts["kafka"], topic: string, sinceMs: number) {
  const offsets = await kafka.admin.offsets(topic);
  const since = await kafka.admin.offsetsAt(topic, Math.max(0, sinceMs));
  const starts = new Map(since.map(({ partition, offset }) => [partition, offset]));
  return offsets.map(({ partition, first, end }): Part => {
    const from = Math.min(end, starts.get(partition) ?? first);
    return { partition, from, to: end, reachedMs: Number.POSITIVE_INFINITY };
  });
}
