/**
 * Reads ranges of a topic. The records of a partition stay in the order of offsets; otherwise, records are in the
 * order of time.
 */

import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";
import { type PartitionRange, READ_MAX_BYTES } from "../connect/partition-ranges.ts";

export interface RangeSource {
  readonly kafka: Pick<Kafka, "read">;
  readonly topic: string;
  readonly signal: AbortSignal;
}

export function readRanges(
  { kafka, topic, signal }: RangeSource,
  ranges: readonly PartitionRange[],
): Steps {
  return mergeByTime(
    ranges.map((range) => kafka.read({ topic, ...range, maxBytes: READ_MAX_BYTES, signal })),
  );
}

type Steps = AsyncGenerator<readonly IncomingRecord[], void, undefined>;

interface Head {
  readonly steps: Steps;
  readonly records: readonly IncomingRecord[];
  next: number;
}

/**
 * Merges lists by time, with one step of each list in memory. Within a list, the order does not change, even if
 * times decrease. When the caller stops reading, the lists are closed.
 */
export async function* mergeByTime(lists: readonly Steps[]): Steps {
  try {
    const started = await Promise.all(lists.map(begin));
    let heads = started.filter((head) => head !== null);
    while (heads.length > 0) {
      const [first, second] = [...heads].sort((one, other) => timeOf(one) - timeOf(other));
      if (first === undefined) return;
      const untilMs = second === undefined ? Number.POSITIVE_INFINITY : timeOf(second);
      yield takeUntil(first, untilMs);
      if (first.next < first.records.length) continue;
      const renewed = await begin(first.steps);
      heads = heads.flatMap((head) => (head === first ? (renewed ?? []) : head));
    }
  } finally {
    await Promise.all(lists.map((steps) => steps.return()));
  }
}

async function begin(steps: Steps): Promise<Head | null> {
  const { done, value } = await steps.next();
  return done === true ? null : { steps, records: value, next: 0 };
}

function timeOf({ records, next }: Head): number {
  return records[next]?.timestampMs ?? Number.POSITIVE_INFINITY;
}

/** Takes the next record, and all following records whose time is not later than `untilMs`. */
function takeUntil(head: Head, untilMs: number): readonly IncomingRecord[] {
  const start = head.next;
  do head.next += 1;
  while (head.next < head.records.length && timeOf(head) <= untilMs);
  return head.records.slice(start, head.next);
}
