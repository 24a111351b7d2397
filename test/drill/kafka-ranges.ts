/**
 * Computes the ranges of numbers during a period from samples of Kafka. Between two samples, a number may have had any
 * value between the two, because log end offsets and commits only grow.
 */

import type { Range } from "./comparison.ts";
import type { KafkaSample, SeenRecord } from "./kafka-truth.ts";

/** The samples from the last one that ended before `fromMs` to the first one that started after `toMs`. */
export function samplesOf(
  samples: readonly KafkaSample[],
  { from: fromMs, to: toMs }: Range,
): readonly KafkaSample[] {
  const before = samples.findLastIndex((each) => each.toMs <= fromMs);
  const after = samples.findIndex((each) => each.fromMs >= toMs);
  return samples.slice(Math.max(0, before), after < 0 ? undefined : after + 1);
}

/**
 * The number of records between a group's commits and the ends of topics. Null if a topic does not exist, or if the
 * number is unknown.
 *
 * @param of the log end offsets, which may be older than commits, because they are requested only periodically.
 */
export function lagRange(
  of: { readonly ends: readonly KafkaSample[]; readonly commits: readonly KafkaSample[] },
  group: string,
  topics: readonly string[],
): Range | null {
  let from = 0;
  let to = 0;
  for (const topic of topics) {
    const partitions = of.ends.at(-1)?.ends.get(topic)?.length ?? 0;
    if (partitions === 0) return null;
    for (let partition = 0; partition < partitions; partition += 1) {
      const ends = of.ends.map((each) => each.ends.get(topic)?.[partition] ?? 0);
      const committed = (sample: KafkaSample) =>
        sample.committed.get(group)?.get(topic)?.[partition] ?? 0;
      const commits = of.commits.map(committed);
      from += Math.max(0, Math.min(...ends) - Math.max(...commits));
      to += Math.max(0, Math.max(...ends) - Math.min(...commits));
    }
  }
  return { from, to };
}

export interface WaitingRecords {
  /** The records that waited all the time. */
  readonly always: readonly SeenRecord[];
  /** The records that waited at any moment. */
  readonly ever: readonly SeenRecord[];
}

/** The matching records of a topic that a group has not committed. Null if they are unknown. */
export function waitingRecords(
  samples: readonly KafkaSample[],
  records: readonly SeenRecord[],
  { group, topic }: { readonly group: string; readonly topic: string },
  fits: (record: SeenRecord) => boolean,
): WaitingRecords | null {
  const own = records.filter((record) => record.topic === topic && fits(record));
  const isAfter = (record: SeenRecord, sample: KafkaSample) =>
    record.offset >= (sample.committed.get(group)?.get(topic)?.[record.partition] ?? 0);
  const isThere = (record: SeenRecord, sample: KafkaSample) =>
    record.offset < (sample.ends.get(topic)?.[record.partition] ?? 0);
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined) return null;
  return {
    always: own.filter((record) => isThere(record, first) && isAfter(record, last)),
    ever: own.filter((record) => isThere(record, last) && isAfter(record, first)),
  };
}

/** The range of the number of waiting records. */
export function waitingRange(found: WaitingRecords | null): Range | null {
  return found && { from: found.always.length, to: found.ever.length };
}
