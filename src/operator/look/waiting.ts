/**
 * Counts the unprocessed records of consumer groups, and finds out when the oldest one was written. All topics are
 * requested together, so that 1,000 topics take about as long as one topic.
 *
 *   found for a partition                                 requested
 *   unprocessed records (`kafka/uncommitted-ranges.ts`)   all partitions together
 *   its first unprocessed record                          at most 64 at a time, the longest backlogs first, for 1.5 s in
 *                                                         total; partitions not read by then have no age
 *
 * If a topic cannot be requested, or if there is no permission to read its records, its entry contains the reason.
 * The other entries are still complete.
 */

import { asError } from "../../base/runtime/as-error.ts";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import { type CorruptBatch, corruptBatchOf } from "../../domain/corrupt-batch.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";
import {
  type Reading,
  recordsIn,
  type UnfinishedPart,
  unfinishedIn,
} from "../../kafka/uncommitted-ranges.ts";

export interface UnprocessedRecords {
  /** Unprocessed records. */
  readonly records: number;
  /**
   * When the oldest unprocessed record was written; null if there is no such record, or if the record cannot be
   * read.
   */
  readonly oldestAtMs: number | null;
  /** The earliest due time among the first records of the partitions; null if records have no due time. */
  readonly dueAtMs: number | null;
  /** The corrupt batches that were found at the positions of the group. */
  readonly corrupt: readonly CorruptBatch[];
}

/** The result for one topic. */
export interface WaitingIn {
  /** Null if the topic does not exist, or cannot be requested. */
  readonly waiting: UnprocessedRecords | null;
  /** The reason, if something is unknown. Null if everything is known, or if the topic does not exist. */
  readonly error: string | null;
  readonly parts: readonly UnfinishedPart[];
}

const READ_MAX_BYTES = 16_384;
/** Time limit for reading the oldest records. There is a limit because a producer's open transaction can hide them. */
const READ_LIMIT_MS = 1_500;
const READS_AT_ONCE = 64;

/** Returns a result for each of the requested topics. */
export async function waitingIn(
  kafka: Kafka,
  readings: readonly Reading[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, WaitingIn>> {
  const unfinished = await unfinishedIn(kafka, readings);
  const all = [...unfinished.values()].flatMap((each) => (each.kind === "known" ? each.parts : []));
  const heads = await readHeads(kafka, all, signal);
  return new Map(
    [...unfinished].map(([topic, of]): [string, WaitingIn] => {
      if (of.kind === "unknown") return [topic, { waiting: null, error: of.error, parts: [] }];
      if (of.kind === "missing") return [topic, { waiting: null, error: null, parts: [] }];
      return [topic, waitingOf(of.parts, heads)];
    }),
  );
}

function waitingOf(
  parts: readonly UnfinishedPart[],
  heads: ReadonlyMap<UnfinishedPart, Head>,
): WaitingIn {
  const found = parts.flatMap((part) => heads.get(part) ?? []);
  const records = found.flatMap(({ record }) => record ?? []);
  const error = found.flatMap((each) => each.error ?? [])[0] ?? null;
  // If some first records were not read, the oldest one may be among them.
  const isWhole = found.length === parts.length && error === null;
  const waiting = {
    records: recordsIn(parts),
    oldestAtMs: isWhole ? earliest(records.map(({ timestampMs }) => timestampMs)) : null,
    dueAtMs: isWhole ? earliest(records.map(dueAt).filter((atMs) => atMs !== null)) : null,
    corrupt: found.flatMap(({ corrupt }) => corrupt ?? []),
  };
  return { waiting, error, parts };
}

interface Head {
  readonly record: IncomingRecord | null;
  readonly corrupt: CorruptBatch | null;
  readonly error: string | null;
}

const EMPTY: Head = { record: null, corrupt: null, error: null };

async function readHeads(
  kafka: Kafka,
  parts: readonly UnfinishedPart[],
  signal: AbortSignal,
): Promise<ReadonlyMap<UnfinishedPart, Head>> {
  using late = hearingLimit(READ_LIMIT_MS, signal);
  const heads = new Map<UnfinishedPart, Head>();
  const left = parts.toSorted((one, other) => other.to - other.from - (one.to - one.from));
  const next = async () => {
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      if (late.signal.aborted) return;
      const head = await first(kafka, part, late.signal);
      if (head !== null) heads.set(part, head);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, next));
  return heads;
}

/** Returns null if the record was not read in time. */
async function first(
  kafka: Kafka,
  { topic, partition, from, to }: UnfinishedPart,
  signal: AbortSignal,
): Promise<Head | null> {
  const range = { topic, partition, from, to, maxBytes: READ_MAX_BYTES, signal };
  try {
    for await (const [record] of kafka.read(range)) {
      if (record !== undefined) return { ...EMPTY, record };
    }
    return signal.aborted ? null : EMPTY;
  } catch (error) {
    const corrupt = corruptBatchOf(error);
    return corrupt === null ? { ...EMPTY, error: asError(error).message } : { ...EMPTY, corrupt };
  }
}

function dueAt({ headers }: IncomingRecord): number | null {
  const found = headers.findLast(([name]) => name === DELIVERY_HEADER.dueAt)?.[1]?.toString();
  return found !== undefined && /^\d{1,15}$/.test(found) ? Number(found) : null;
}

export function earliest(timesMs: readonly number[]): number | null {
  return timesMs.length === 0 ? null : Math.min(...timesMs);
}
