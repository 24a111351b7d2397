/**
 * Creates and reads the marks on the compacted topic `dead-letter-replays`, which list the dead letters that have been
 * replayed. For each partition in a batch, a replay writes a mark after the records have been acknowledged and before
 * the position is committed.
 *
 *   part of a mark   is
 *   key              the partition, its first and last offset, the replay and its process, so that keys are unique
 *   value            {"v":1, "replay", "at", "partition", "deadLetters": [[offset, time of the record], ...]}
 *
 *   offset of a dead letter     time in the mark                           the dead letter is
 *   is not in any mark          -                                          waiting
 *   is in a mark                the time of its record                     replayed
 *   is in a mark                another time: the topic was recreated      waiting
 *
 * When the topic `dead-letters` contains none of a mark's dead letters any more, the next replay removes the mark
 * with a tombstone (docs/decisions/0032-replays.md).
 */

import { jsonObjectIn } from "../../domain/json.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import type { PartitionOffsets } from "../../kafka/port.ts";
import type { PartitionRange } from "../connect/partition-ranges.ts";

export interface ReplayMark {
  readonly replay: string;
  readonly atMs: number;
}

/** The position and the time by which a dead letter's mark is found. */
export type DeadLetterPlace = Pick<IncomingRecord, "partition" | "offset" | "timestampMs">;

const VERSION = 1;

interface MarkValue extends ReplayMark {
  readonly partition: number;
  readonly deadLetters: readonly (readonly [offset: number, timestampMs: number])[];
}

/** Creates the marks for dead letters that were replayed together: one mark for each partition. */
export function marksOf(
  topic: string,
  deadLetters: readonly DeadLetterPlace[],
  { replay, by, atMs }: ReplayMark & { readonly by: string },
): readonly OutgoingRecord[] {
  const partitions = Map.groupBy(deadLetters, ({ partition }) => partition);
  return [...partitions].map(([partition, all]) => {
    const offsets = all.map(({ offset }) => offset);
    const range = `${Math.min(...offsets)}-${Math.max(...offsets)}`;
    const at = new Date(atMs).toISOString();
    const places = all.map(({ offset, timestampMs }) => [offset, timestampMs]);
    const value = JSON.stringify({ v: VERSION, replay, at, partition, deadLetters: places });
    const key = Buffer.from(`${partition}/${range}/${replay}/${by}`);
    return { topic, key, value: Buffer.from(value), headers: [] };
  });
}

/**
 * The marks that were on the topic when it was read, for ranges of dead letters. Millions of dead letters can be marked,
 * so an offset in a range takes 12 bytes, and other offsets take none.
 */
export class ReplayMarks {
  readonly #ranges: ReadonlyMap<number, PartitionRange>;
  /** Indexed by partition. */
  readonly #deadLetters = new Map<number, MarkedOffsets>();
  readonly #marks: ReplayMark[] = [];
  readonly #values = new Map<string, PartitionOffsets>();

  /** @param ranges the dead letters for which `of` responds. Every other one counts as waiting. */
  constructor(ranges: readonly PartitionRange[]) {
    this.#ranges = new Map(ranges.map((range) => [range.partition, range]));
  }

  /**
   * Adds a record of the topic. Records with the same key must be added in order. Records that are not marks are
   * ignored.
   */
  take({ key, value }: Pick<IncomingRecord, "key" | "value">): void {
    if (key === null) return;
    const name = key.toString();
    const mark = value === null ? null : parse(value);
    if (mark === null) this.#values.delete(name);
    else this.#add(name, mark);
  }

  /** Returns null if the dead letter has not been replayed. */
  of({ partition, offset, timestampMs }: DeadLetterPlace): ReplayMark | null {
    const known = this.#deadLetters.get(partition);
    if (known === undefined) return null;
    const at = offset - known.from;
    return known.times[at] === timestampMs
      ? (this.#marks[(known.marks[at] ?? 0) - 1] ?? null)
      : null;
  }

  /**
   * Creates tombstones for marks whose dead letters are all gone from the topic.
   *
   * @param offsets the offsets of the topic `dead-letters`, requested after the marks were read.
   */
  tombstones(topic: string, offsets: readonly PartitionOffsets[]): readonly OutgoingRecord[] {
    const ranges = new Map(offsets.map((range) => [range.partition, range]));
    const isThere = ({ partition, first, end }: PartitionOffsets) => {
      const range = ranges.get(partition);
      return range !== undefined && end > range.first && first < range.end;
    };
    const gone = [...this.#values].filter(([, mark]) => !isThere(mark));
    return gone.map(([key]) => ({ topic, key: Buffer.from(key), value: null, headers: [] }));
  }

  #add(key: string, { partition, deadLetters, replay, atMs }: MarkValue): void {
    const marked = deadLetters.map(([offset]) => offset);
    const [first, last] = [Math.min(...marked), Math.max(...marked)];
    this.#values.set(key, { partition, first, end: last + 1 });
    const range = this.#ranges.get(partition);
    if (range === undefined || last < range.from || first >= range.to) return;
    const known = this.#deadLetters.get(partition) ?? markedOffsets(range);
    this.#deadLetters.set(partition, known);
    this.#marks.push({ replay, atMs });
    for (const [offset, timestampMs] of deadLetters) {
      // A write outside of the arrays has no effect.
      known.times[offset - known.from] = timestampMs;
      known.marks[offset - known.from] = this.#marks.length;
    }
  }
}

/** For each offset of a range: the time of the dead letter, and the number of its mark, or 0. */
interface MarkedOffsets {
  readonly from: number;
  readonly times: Float64Array;
  readonly marks: Uint32Array;
}

function markedOffsets({ from, to }: PartitionRange): MarkedOffsets {
  return { from, times: new Float64Array(to - from), marks: new Uint32Array(to - from) };
}

function parse(value: Buffer): MarkValue | null {
  const json = jsonObjectIn(value);
  if (json === null) return null;
  const { v, replay, at, partition, deadLetters } = json;
  if (v !== VERSION || typeof replay !== "string" || typeof at !== "string") return null;
  if (typeof partition !== "number" || !Array.isArray(deadLetters)) return null;
  const atMs = Date.parse(at);
  const places = deadLetters.filter(isPlace);
  return { replay, atMs: Number.isNaN(atMs) ? 0 : atMs, partition, deadLetters: places };
}

function isPlace(given: unknown): given is readonly [number, number] {
  return Array.isArray(given) && given.length === 2 && given.every(Number.isSafeInteger);
}
