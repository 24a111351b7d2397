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

interface Known {
  heard: Heard | null;
  /** 0: where it was asked for, it begins there. */
  first: number;
}

export class LogEnds {
  /** By topic and partition: there are thousands, and a key for each would be made with each look. */
  #known = new Map<string, Known[]>();

  endIs(topic: string, partition: number, heard: Heard): void {
    this.#of(topic, partition).heard = heard;
  }

  firstIs(topic: string, partition: number, offset: number): void {
    this.#of(topic, partition).first = offset;
  }

  /** Forgets all partitions but these. */
  keep(partitions: readonly Place[]): void {
    const before = this.#known;
    this.#known = new Map();
    for (const { topic, partition } of partitions) {
      const known = before.get(topic)?.[partition];
      if (known !== undefined) Object.assign(this.#of(topic, partition), known);
    }
  }

  /** A consumer's progress, with what was heard since its last fetch. */
  seen(progress: PartitionProgress): PartitionProgress {
    const known = this.#known.get(progress.topic)?.[progress.partition];
    const position = Math.max(progress.position, known?.first ?? 0);
    const heard = known?.heard ?? null;
    if (heard === null || heard.atMs <= (progress.endAtMs ?? 0)) {
      return { ...progress, position, end: Math.max(position, progress.end) };
    }
    return { ...progress, position, end: Math.max(position, heard.end), endAtMs: heard.atMs };
  }

  #of(topic: string, partition: number): Known {
    let ofTopic = this.#known.get(topic);
    if (ofTopic === undefined) {
      ofTopic = [];
      this.#known.set(topic, ofTopic);
    }
    const known = ofTopic[partition] ?? { heard: null, first: 0 };
    ofTopic[partition] = known;
    return known;
  }
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}
