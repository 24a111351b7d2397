/** Reads parts of many partitions in parallel. */

import { asError } from "../../base/runtime/as-error.ts";
import { type CorruptBatch, skippedText } from "../../domain/corrupt-batch.ts";
import type { IncomingRecord, RecordPlace } from "../../domain/record.ts";
import {
  type Kafka,
  type PartitionOffset,
  type PartitionOffsets,
  partitionOfKey,
} from "../../kafka/port.ts";
import {
  CLOCK_MARGIN_MS,
  eachInParallel,
  type PartitionRange,
  READ_MAX_BYTES,
  rangesFrom,
} from "../connect/partition-ranges.ts";

interface ScanPorts {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  readonly signal: AbortSignal;
  readonly onRead?: (records: number) => void;
}

/** A promise is awaited before the next record. */
type Take = (record: IncomingRecord) => void | Promise<void>;

interface ScanRange extends PartitionRange {
  readonly topic: string;
}

export class Scan {
  readonly #ports: ScanPorts;
  readonly #unread = new Map<string, string>();
  #offsets: ReadonlyMap<string, readonly PartitionOffsets[]> = new Map();

  constructor(ports: ScanPorts) {
    this.#ports = ports;
  }

  /** The topics that could not be read, with the reasons. */
  get unread(): readonly string[] {
    return [...this.#unread].map(([topic, error]) => `${topic}: ${error}`);
  }

  /** Stores the current ends of the partitions, so that later records are not read. */
  async know(topics: readonly string[]): Promise<void> {
    this.#offsets = await this.#ports.kafka.admin.offsetsOf(topics);
  }

  /** @param keys the keys of the wanted records; null for any key. */
  async since(
    topics: readonly string[],
    sinceMs: number,
    keys: readonly string[] | null,
    take: Take,
  ): Promise<void> {
    const parts: ScanRange[] = [];
    for (const topic of topics) {
      if (this.#ports.signal.aborted) return;
      await this.tried(topic, async () => {
        parts.push(...(await this.#parts(topic, sinceMs, keys)));
      });
    }
    await eachInParallel(parts, (part) => this.tried(part.topic, () => this.#read(part, take)));
  }

  /** Reads the record at one position, if the record still exists. */
  async at({ topic, partition, offset }: RecordPlace, take: Take): Promise<void> {
    const known = this.#offsets.get(topic)?.find((each) => each.partition === partition);
    if (known === undefined || offset < known.first || offset >= known.end) return;
    const part = { topic, partition, from: offset, to: offset + 1 };
    await this.tried(topic, () => this.#read(part, take));
  }

  async #parts(
    topic: string,
    sinceMs: number,
    keys: readonly string[] | null,
  ): Promise<readonly ScanRange[]> {
    const known = this.#offsets.get(topic) ?? [];
    if (known.every(({ first, end }) => first === end)) return [];
    const atMs = Math.max(0, sinceMs - CLOCK_MARGIN_MS);
    const found = await this.#ports.kafka.admin.offsetsAt(topic, atMs);
    const wanted = keys === null ? null : partitionsOfKeys(keys, found, partitionOfKey);
    return rangesFrom(known, found)
      .filter(({ partition, from, to }) => wanted?.has(partition) !== false && from < to)
      .map((range) => ({ topic, ...range }));
  }

  async #read(part: ScanRange, take: Take): Promise<void> {
    const { kafka, signal, onRead } = this.#ports;
    const onSkipped = (batch: CorruptBatch) => this.#unread.set(part.topic, skippedText(batch));
    const range = { ...part, maxBytes: READ_MAX_BYTES, signal, onSkipped };
    for await (const records of kafka.read(range)) {
      for (const record of records) {
        const taking = take(record);
        if (taking !== undefined) await taking;
      }
      onRead?.(records.length);
    }
  }

  /** If a topic is deleted while it is read, or if there is no permission to read it, the timeline has a gap. */
  async tried(topic: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#ports.signal.aborted) this.#unread.set(topic, asError(error).message);
    }
  }
}

/**
 * The partitions that may contain records with a key since a given time. Partitions may have been added to the topic
 * since then, and the partition of a record depends on how many partitions there were when it was written.
 *
 *   partition n                                   number of partitions since that time
 *   has a record of an earlier time, or had one   at least n + 1
 *   has none                                      perhaps fewer: it may be new, or unused
 *
 * If records are written to the topic continuously, no additional partitions have to be read. A topic that was
 * recreated contains only records that were written with its current number of partitions. If Kafka deletes records
 * by size, a deleted record in a new partition looks like an earlier record.
 *
 * @param starts the first record of each partition at or after that time. Its offset is above 0 if there was an
 * earlier record.
 * @param partitionOf returns the partition of a key for a given number of partitions.
 */
export function partitionsOfKeys(
  keys: readonly string[],
  starts: readonly PartitionOffset[],
  partitionOf: (key: Uint8Array, partitions: number) => number,
): ReadonlySet<number> {
  const had = starts.filter(({ offset }) => offset > 0).map(({ partition }) => partition + 1);
  const least = Math.max(1, ...had);
  const found = new Set<number>();
  for (const key of keys) {
    const bytes = Buffer.from(key);
    for (let count = least; count <= starts.length; count += 1) {
      found.add(partitionOf(bytes, count));
    }
  }
  return found;
}
