/** Reads dead letters, the oldest first, up to the ends that were there at the start. */

import type { IncomingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { type DeadLetter, readDeadLetter } from "./dead-letter-record.ts";
import { type DeadLetterFilter, passing, type ReadDeadLetterValue } from "./filter.ts";
import { mergeByTime } from "./merge-by-time.ts";
import { ReplayMarks } from "./replay-marks.ts";

const READ_MAX_BYTES = 1_048_576;
/** Clocks of brokers and stages differ a little. */
const CLOCK_MARGIN_MS = 300_000;

/** A part of one partition of `dead-letters`. */
export interface Range {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** The letters of this moment, from `sinceMs` on. */
export async function deadLetterRanges(
  { admin }: Kafka,
  topic: string,
  sinceMs: number | null,
): Promise<readonly Range[]> {
  const offsets = await admin.offsets(topic);
  const since =
    sinceMs === null ? [] : await admin.offsetsAt(topic, Math.max(0, sinceMs - CLOCK_MARGIN_MS));
  const starts = new Map(since.map(({ partition, offset }) => [partition, offset]));
  return offsets.map(({ partition, first, end }) => ({
    partition,
    from: Math.min(end, starts.get(partition) ?? first),
    to: end,
  }));
}

export interface DeadLetterSource {
  readonly kafka: Kafka;
  readonly topics: TopicNames;
  readonly signal: AbortSignal;
  /** Absent: values that have a schema of a registry are not read. */
  readonly read?: ReadDeadLetterValue;
}

/** Marks of all letters that were replayed until now; none where their topic does not exist yet. */
export async function readMarks({ kafka, topics, signal }: DeadLetterSource): Promise<ReplayMarks> {
  const marks = new ReplayMarks();
  const topic = topics.deadLetterReplays;
  const offsets = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  for (const { partition, first: from, end: to } of offsets) {
    const range = { topic, partition, from, to, maxBytes: READ_MAX_BYTES, signal };
    for await (const records of kafka.read(range)) for (const one of records) marks.take(one);
  }
  return marks;
}

/** The letters of the ranges that pass, the oldest first. */
export async function* readDeadLetters(
  source: DeadLetterSource,
  ranges: readonly Range[],
  filter: DeadLetterFilter,
): AsyncGenerator<DeadLetter, void, undefined> {
  for await (const records of readRecords(source, ranges)) {
    for (const record of records) {
      const deadLetter = readDeadLetter(record, source.topics);
      const found = await passing(deadLetter, filter, source.read);
      if (found !== null) yield found;
    }
  }
}

/** All records of the ranges, the oldest first. */
export function readRecords(
  { kafka, topics, signal }: DeadLetterSource,
  ranges: readonly Range[],
): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
  const topic = topics.deadLetters;
  return mergeByTime(
    ranges.map((range) => kafka.read({ topic, ...range, maxBytes: READ_MAX_BYTES, signal })),
  );
}
