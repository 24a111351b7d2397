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

/** The marks that were on the topic when it was read. */
export class ReplayMarks {
  /** Indexed by partition, then by offset. */
  readonly #deadLetters = new Map<
    number,
    Map<number, readonly [timestampMs: number, ReplayMark]>
  >();
  readonly #values = new Map<string, MarkValue>();

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
    const [markedMs, mark] = this.#deadLetters.get(partition)?.get(offset) ?? [];
    return mark !== undefined && markedMs === timestampMs ? mark : null;
  }

  /**
   * Creates tombstones for marks whose dead letters are all gone from the topic.
   *
   * @param offsets the offsets of the topic `dead-letters`, requested after the marks were read.
   */
  tombstones(topic: string, offsets: readonly PartitionOffsets[]): readonly OutgoingRecord[] {
    const ranges = new Map(offsets.map((range) => [range.partition, range]));
    const isThere = ({ partition, deadLetters }: MarkValue) => {
      const range = ranges.get(partition);
      if (range === undefined) return false;
      return deadLetters.some(([offset]) => offset >= range.first && offset < range.end);
    };
    const gone = [...this.#values].filter(([, mark]) => !isThere(mark));
    return gone.map(([key]) => ({ topic, key: Buffer.from(key), value: null, headers: [] }));
  }

  #add(key: string, value: MarkValue): void {
    this.#values.set(key, value);
    const { partition, deadLetters, replay, atMs } = value;
    const mark = { replay, atMs };
    const known = this.#deadLetters.get(partition) ?? new Map();
    this.#deadLetters.set(partition, known);
    for (const [offset, timestampMs] of deadLetters) known.set(offset, [timestampMs, mark]);
  }
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
