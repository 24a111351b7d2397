/**
 * Numbers that were true at some moment of a time, from looks at Kafka. Between two looks a number
 * may have been anything between them: ends and commits only grow.
 */

import type { Range } from "./comparison.ts";
import type { KafkaSample, SeenRecord } from "./kafka-truth.ts";

/** From the last look that had ended before `fromMs` to the first that began after `toMs`. */
export function samplesOf(
  samples: readonly KafkaSample[],
  { from: fromMs, to: toMs }: Range,
): readonly KafkaSample[] {
  const before = samples.findLastIndex((each) => each.toMs <= fromMs);
  const after = samples.findIndex((each) => each.fromMs >= toMs);
  return samples.slice(Math.max(0, before), after < 0 ? undefined : after + 1);
}

/**
 * Records between a group's commits and the ends of topics. Null: a topic is not there, or nobody
 * knows.
 *
 * @param of ends may be older than commits: they are asked for now and then.
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
  /** Those that were there all the time. */
  readonly always: readonly SeenRecord[];
  /** Those that were there at some moment. */
  readonly ever: readonly SeenRecord[];
}

/** Records of a topic that a group has not committed, and that fit. Null: nobody knows. */
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

/** How many they are. */
export function waitingRange(found: WaitingRecords | null): Range | null {
  return found && { from: found.always.length, to: found.ever.length };
}
