/**
 * Keeps the log end offsets of partitions that the checks of `cluster-watch.ts` have found.
 *
 *   a partition's log end offset is   taken from
 *   more recent from a fetch          the fetch
 *   more recent from a check          the check: nothing is fetched while a destination is on hold
 *
 *   its position is                   taken from
 *   below the first offset            the first offset: the rest was deleted, or nothing is committed
 *   otherwise                         the consumer
 *
 * For partitions that this process has left, it keeps how many records were not processed. If the topic has another ID
 * when it is read again, it was deleted, and these records are lost. The highest end counts, because a check may already
 * have found the end of the new topic.
 */

import type { PartitionPlace } from "../../domain/record.ts";
import type { PartitionProgress } from "../port.ts";

/** A partition of which this process is the owner. */
export type OwnedPlace = Pick<PartitionProgress, "topic" | "partition" | "position">;

interface Heard {
  readonly end: number;
  readonly atMs: number;
}

/**
 * Changed in place, because a new entry for each check would live until the next check. With thousands of
 * partitions, such entries would reach the old generation, and an idle process would collect its whole heap
 * once a minute.
 */
class LogEnd {
  /** Null if it has not been received. */
  end: number | null = null;
  atMs = 0;
  highest = 0;
  /** The first offset; 0 if it was not requested. */
  first = 0;
  keptIn = 0;
}

export class LogEnds {
  /**
   * By topic, then by partition, because combined keys would mean that thousands of keys are created for each check.
   */
  readonly #known = new Map<string, (LogEnd | undefined)[]>();
  /** By group and topic, then by partition. */
  readonly #left = new Map<string, Map<number, { topicId: string; unprocessed: number }>>();
  #keeps = 0;

  setEnd(topic: string, partition: number, { end, atMs }: Heard): void {
    const known = this.#of(topic, partition);
    known.end = end;
    known.highest = Math.max(known.highest, end);
    known.atMs = atMs;
    // The topic was recreated.
    if (end < known.first) known.first = 0;
  }

  /**
   * `true` if the position may be before the first offset, which is not known. Most partitions have a position, from a
   * commit or because the partition was read, or are empty.
   */
  needsFirst({ topic, partition, position }: OwnedPlace): boolean {
    if (position > 0) return false;
    const known = this.#known.get(topic)?.[partition];
    return known === undefined || (known.first === 0 && known.end !== 0);
  }

  setFirst(topic: string, partition: number, offset: number): void {
    this.#of(topic, partition).first = offset;
  }

  /** Drops all partitions except these. */
  keep(partitions: readonly PartitionPlace[]): void {
    this.#keeps += 1;
    for (const { topic, partition } of partitions) {
      const known = this.#known.get(topic)?.[partition];
      if (known !== undefined) known.keptIn = this.#keeps;
    }
    const isKept = (known: LogEnd | undefined) => known?.keptIn === this.#keeps;
    for (const [topic, ofTopic] of this.#known) {
      if (!ofTopic.some(isKept)) this.#known.delete(topic);
      for (const [partition, known] of ofTopic.entries()) {
        if (!isKept(known)) ofTopic[partition] = undefined;
      }
    }
  }

  /** Call when a partition is revoked. @param topicId the ID of the topic that was read. */
  leave(group: string, topicId: string, { topic, partition, position, end }: PartitionProgress) {
    const known = this.#known.get(topic)?.[partition];
    const from = Math.max(position, known?.first ?? 0);
    const unprocessed = Math.max(0, Math.max(end, known?.highest ?? 0) - from);
    const key = `${group} ${topic}`;
    const left = this.#left.get(key) ?? new Map<number, { topicId: string; unprocessed: number }>();
    this.#left.set(key, left.set(partition, { topicId, unprocessed }));
  }

  /**
   * Call when a topic is read again. Returns how many records were lost at most, because they were in an earlier topic
   * of the same name; null if this process has not read an earlier topic.
   */
  lost(group: string, topic: string, topicId: string): number | null {
    const key = `${group} ${topic}`;
    const left = [...(this.#left.get(key)?.values() ?? [])];
    this.#left.delete(key);
    const earlier = left.filter((each) => each.topicId !== topicId);
    if (left.length === 0) return null;
    if (earlier.length > 0) this.#known.delete(topic);
    return earlier.reduce((sum, { unprocessed }) => sum + unprocessed, 0);
  }

  /** A partition's progress, updated with offsets that were received after the consumer's last fetch. */
  withLatest(progress: PartitionProgress): PartitionProgress {
    const known = this.#known.get(progress.topic)?.[progress.partition];
    const position = Math.max(progress.position, known?.first ?? 0);
    const end = known?.end ?? null;
    const atMs = known?.atMs ?? 0;
    if (end === null || atMs <= (progress.endAtMs ?? 0)) {
      return { ...progress, position, end: Math.max(position, progress.end) };
    }
    return { ...progress, position, end: Math.max(position, end), endAtMs: atMs };
  }

  #of(topic: string, partition: number): LogEnd {
    let ofTopic = this.#known.get(topic);
    if (ofTopic === undefined) {
      ofTopic = [];
      this.#known.set(topic, ofTopic);
    }
    const known = ofTopic[partition] ?? new LogEnd();
    ofTopic[partition] = known;
    return known;
  }
}
