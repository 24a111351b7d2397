/**
 * Where the logs of partitions end, as the looks of `cluster-watch.ts` found them.
 *
 *   a partition's end is         taken from
 *   heard by a fetch later       the fetch
 *   heard by a look later        the look: nothing is fetched of a line that is held, or paused
 *
 *   its position is              taken from
 *   below the log's beginning    the beginning: the rest was deleted, or nothing is committed
 *   else                         the consumer
 */

import type { PartitionProgress } from "../port.ts";

interface Heard {
  readonly end: number;
  readonly atMs: number;
}

export class LogEnds {
  readonly #ends = new Map<string, Heard>();
  readonly #firsts = new Map<string, number>();

  endIs(topic: string, partition: number, heard: Heard): void {
    this.#ends.set(keyOf(topic, partition), heard);
  }

  firstIs(topic: string, partition: number, offset: number): void {
    this.#firsts.set(keyOf(topic, partition), offset);
  }

  /** Forgets all partitions but these. */
  keep(partitions: readonly Place[]): void {
    const kept = new Set(partitions.map(({ topic, partition }) => keyOf(topic, partition)));
    for (const all of [this.#ends, this.#firsts]) {
      for (const key of all.keys()) if (!kept.has(key)) all.delete(key);
    }
  }

  /** A consumer's progress, with what was heard since its last fetch. */
  seen(progress: PartitionProgress): PartitionProgress {
    const key = keyOf(progress.topic, progress.partition);
    const position = Math.max(progress.position, this.#firsts.get(key) ?? 0);
    const heard = this.#ends.get(key);
    if (heard === undefined || heard.atMs <= (progress.endAtMs ?? 0)) {
      return { ...progress, position, end: Math.max(position, progress.end) };
    }
    return { ...progress, position, end: Math.max(position, heard.end), endAtMs: heard.atMs };
  }
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
