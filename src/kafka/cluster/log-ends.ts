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

/**
 * Changed in place. An entry that is recreated lives until the next look. With thousands of partitions
 * these are promoted, and the whole heap of an idle process is collected for them once a minute.
 */
interface Known {
  /** Null: not heard. */
  end: number | null;
  atMs: number;
  /** 0: where it was asked for, it begins there. */
  first: number;
  keptIn: number;
}

export class LogEnds {
  /** By topic and partition: there are thousands, and a key for each would be made with each look. */
  readonly #known = new Map<string, (Known | undefined)[]>();
  #keeps = 0;

  setEnd(topic: string, partition: number, { end, atMs }: Heard): void {
    const known = this.#of(topic, partition);
    known.end = end;
    known.atMs = atMs;
  }

  setFirst(topic: string, partition: number, offset: number): void {
    this.#of(topic, partition).first = offset;
  }

  /** Forgets all partitions but these. */
  keep(partitions: readonly Place[]): void {
    this.#keeps += 1;
    for (const { topic, partition } of partitions) {
      const known = this.#known.get(topic)?.[partition];
      if (known !== undefined) known.keptIn = this.#keeps;
    }
    const isKept = (known: Known | undefined) => known?.keptIn === this.#keeps;
    for (const [topic, ofTopic] of this.#known) {
      if (!ofTopic.some(isKept)) this.#known.delete(topic);
      for (const [partition, known] of ofTopic.entries()) {
        if (!isKept(known)) ofTopic[partition] = undefined;
      }
    }
  }

  /** A consumer's progress, with what was heard since its last fetch. */
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

  #of(topic: string, partition: number): Known {
    let ofTopic = this.#known.get(topic);
    if (ofTopic === undefined) {
      ofTopic = [];
      this.#known.set(topic, ofTopic);
    }
    const known = ofTopic[partition] ?? { end: null, atMs: 0, first: 0, keptIn: 0 };
    ofTopic[partition] = known;
    return known;
  }
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}
