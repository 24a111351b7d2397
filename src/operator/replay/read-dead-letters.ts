/** Reads dead letters in the order of time, up to the offsets at which the partitions ended when reading started. */

import type { TopicNames } from "../../domain/topics.ts";
import type { Admin, Kafka } from "../../kafka/port.ts";
import { CLOCK_MARGIN_MS, type PartitionRange, rangesSince } from "../connect/partition-ranges.ts";
import {
  type DeadLetter,
  type DeadLetterFilter,
  passing,
  type ReadDeadLetterValue,
  readDeadLetter,
} from "./dead-letter-record.ts";
import { readRanges } from "./read-records.ts";
import { ReplayMarks } from "./replay-marks.ts";

/**
 * The ranges of the existing dead letters, starting at `sinceMs`. The time of a dead letter comes from the clock of its
 * stage, so there is a margin.
 */
export function deadLetterRanges(
  { admin }: { readonly admin: Pick<Admin, "offsets" | "offsetsAt"> },
  topic: string,
  sinceMs: number | null,
): Promise<readonly PartitionRange[]> {
  return rangesSince(admin, topic, sinceMs === null ? null : sinceMs - CLOCK_MARGIN_MS);
}

export interface DeadLetterSource {
  readonly kafka: Kafka;
  readonly topics: TopicNames;
  readonly signal: AbortSignal;
  /** If absent, values with a schema are not read. */
  readonly read?: ReadDeadLetterValue;
}

/**
 * Reads the marks of the dead letters in the ranges that have been replayed. There are none if the topic of marks does
 * not exist yet.
 */
export async function readMarks(
  { kafka, topics, signal }: DeadLetterSource,
  deadLetters: readonly PartitionRange[],
): Promise<ReplayMarks> {
  const marks = new ReplayMarks(deadLetters);
  const topic = topics.deadLetterReplays;
  const offsets = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  const ranges = offsets.map(({ partition, first: from, end: to }) => ({ partition, from, to }));
  for await (const records of readRanges({ kafka, topic, signal }, ranges)) {
    for (const one of records) marks.take(one);
  }
  return marks;
}

/** Yields the dead letters in the ranges that pass the filter, in the order of time. */
export async function* readDeadLetters(
  { kafka, topics, signal, read }: DeadLetterSource,
  ranges: readonly PartitionRange[],
  filter: DeadLetterFilter,
): AsyncGenerator<DeadLetter, void, undefined> {
  for await (const records of readRanges({ kafka, topic: topics.deadLetters, signal }, ranges)) {
    for (const record of records) {
      const found = await passing(readDeadLetter(record, topics), filter, read);
      if (found !== null) yield found;
    }
  }
}
