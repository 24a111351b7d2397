/**
 * The records that wait in topics for their consumer groups: how many, and the oldest of them. All
 * are asked for together, so that a thousand topics take about as long as one.
 *
 *   found of a partition                          asked for
 *   committed offsets, then first ones and ends   all partitions at a time
 *   its first waiting record                      at most 64 at a time, the longest backlogs first,
 *                                                 for 1.5 s in all; those not read by then have no age
 */

import { type DamagedBatch, damagedBatchOf } from "../../domain/damaged-batch.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { CommittedOffset, Kafka, PartitionOffsets } from "../../kafka/port.ts";

export interface Waiting {
  /** From the committed offsets to the ends; without a commit from the first offset. */
  readonly records: number;
  /** When the oldest of them was written; null when there is none or it cannot be read. */
  readonly oldestAtMs: number | null;
  /** The earliest due time at the head of a partition; null for topics without. */
  readonly dueAtMs: number | null;
  /** Damaged batches at which the group stands. */
  readonly damaged: readonly DamagedBatch[];
}

/** A topic, and the group that reads it. */
export interface Reading {
  readonly groupId: string;
  readonly topic: string;
}

const READ_MAX_BYTES = 16_384;
/** An open transaction of a producer can hide the oldest record, too. */
const READ_LIMIT_MS = 1_500;
const READS_AT_ONCE = 64;

interface Range {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** By topic; one that does not exist is left out. */
export async function waitingIn(
  kafka: Kafka,
  readings: readonly Reading[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Waiting>> {
  const groups = Map.groupBy(readings, ({ groupId }) => groupId);
  const topicsOf = new Map(
    [...groups].map(([groupId, of]) => [groupId, of.map(({ topic }) => topic)]),
  );
  // In this order: records that come and are committed in between must not make it negative.
  const committed = await kafka.admin.committedOf(topicsOf);
  const offsets = await kafka.admin.offsetsOf(readings.map(({ topic }) => topic));
  const behind = new Map(
    readings.flatMap(({ groupId, topic }) => {
      const found = offsets.get(topic);
      if (found === undefined) return [];
      return [[topic, rangesOf(topic, found, committed.get(groupId)?.get(topic) ?? [])] as const];
    }),
  );
  const heads = await readHeads(kafka, [...behind.values()].flat(), signal);
  return new Map([...behind].map(([topic, ranges]) => [topic, waitingOf(ranges, heads)]));
}

function rangesOf(
  topic: string,
  offsets: readonly PartitionOffsets[],
  committed: readonly CommittedOffset[],
): readonly Range[] {
  const positions = new Map(committed.map(({ partition, offset }) => [partition, offset]));
  return offsets
    .map(({ partition, first, end }) => ({
      topic,
      partition,
      from: Math.max(first, positions.get(partition) ?? first),
      to: end,
    }))
    .filter(({ from, to }) => from < to);
}

function waitingOf(ranges: readonly Range[], heads: ReadonlyMap<Range, Head>): Waiting {
  const found = ranges.flatMap((range) => heads.get(range) ?? []);
  const records = found.flatMap(({ record }) => record ?? []);
  // One that was not read may be the oldest.
  const isWhole = found.length === ranges.length;
  return {
    records: ranges.reduce((sum, { from, to }) => sum + to - from, 0),
    oldestAtMs: isWhole ? earliest(records.map(({ timestampMs }) => timestampMs)) : null,
    dueAtMs: isWhole ? earliest(records.map(dueAt).filter((atMs) => atMs !== null)) : null,
    damaged: found.flatMap(({ damaged }) => damaged ?? []),
  };
}

interface Head {
  readonly record: IncomingRecord | null;
  readonly damaged: DamagedBatch | null;
}

async function readHeads(
  kafka: Kafka,
  ranges: readonly Range[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Range, Head>> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_LIMIT_MS)]);
  const heads = new Map<Range, Head>();
  const left = ranges.toSorted((one, other) => other.to - other.from - (one.to - one.from));
  const next = async () => {
    for (let range = left.shift(); range !== undefined; range = left.shift()) {
      if (limited.aborted) return;
      const head = await first(kafka, range, limited);
      if (head !== null) heads.set(range, head);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, next));
  return heads;
}

/** Null: it was not read in time. */
async function first(kafka: Kafka, range: Range, signal: AbortSignal): Promise<Head | null> {
  try {
    for await (const [record] of kafka.read({ ...range, maxBytes: READ_MAX_BYTES, signal })) {
      if (record !== undefined) return { record, damaged: null };
    }
    return signal.aborted ? null : { record: null, damaged: null };
  } catch (error) {
    const damaged = damagedBatchOf(error);
    if (damaged === null) throw error;
    return { record: null, damaged };
  }
}

function dueAt({ headers }: IncomingRecord): number | null {
  const found = headers.findLast(([name]) => name === DELIVERY_HEADER.dueAt)?.[1]?.toString();
  return found !== undefined && /^\d{1,15}$/.test(found) ? Number(found) : null;
}

export function earliest(timesMs: readonly number[]): number | null {
  return timesMs.length === 0 ? null : Math.min(...timesMs);
}
