/** The records that wait in a topic for a consumer group: how many, and the oldest of them. */

import { type DamagedBatch, damagedBatchOf } from "../../domain/damaged-batch.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";

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

const READ_MAX_BYTES = 16_384;
/** An open transaction of a producer can hide the oldest record. */
const READ_LIMIT_MS = 5_000;

/** @throws Error when the topic does not exist. */
export async function waitingIn(
  kafka: Kafka,
  groupId: string,
  topic: string,
  signal: AbortSignal,
): Promise<Waiting> {
  // In this order: records that come and are committed in between must not make it negative.
  const committed = await kafka.admin.committed(groupId, topic);
  const offsets = await kafka.admin.offsets(topic);
  const positions = new Map(committed.map(({ partition, offset }) => [partition, offset]));
  const behind = offsets
    .map(({ partition, first, end }) => ({
      partition,
      from: Math.max(first, positions.get(partition) ?? first),
      to: end,
    }))
    .filter(({ from, to }) => from < to);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_LIMIT_MS)]);
  const heads = await Promise.all(
    behind.map((range) =>
      first(kafka.read({ topic, ...range, maxBytes: READ_MAX_BYTES, signal: limited })),
    ),
  );
  const found = heads.flatMap(({ record }) => record ?? []);
  return {
    records: behind.reduce((sum, { from, to }) => sum + to - from, 0),
    oldestAtMs: earliest(found.map(({ timestampMs }) => timestampMs)),
    dueAtMs: earliest(found.map(dueAt).filter((atMs) => atMs !== null)),
    damaged: heads.flatMap(({ damaged }) => damaged ?? []),
  };
}

interface Head {
  readonly record: IncomingRecord | null;
  readonly damaged: DamagedBatch | null;
}

async function first(
  steps: AsyncGenerator<readonly IncomingRecord[], void, undefined>,
): Promise<Head> {
  try {
    for await (const [record] of steps) {
      if (record !== undefined) return { record, damaged: null };
    }
    return { record: null, damaged: null };
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
