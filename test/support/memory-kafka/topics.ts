/** Topics and their partitions' logs, in memory. */

import assert from "node:assert/strict";

import type { IncomingRecord, OutgoingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import type { TopicSpec } from "../../../src/kafka/port.ts";
import { partitionOfKey } from "../../../src/kafka/wire/murmur2.ts";
import { StoredRecord } from "../build/stored-record.ts";

export class MemoryPartition {
  /** In the order of offsets. Gaps exist if a test has created them. */
  readonly records: IncomingRecord[] = [];
  /** The offset of the next record. */
  end = 0;
  /** Called after each append. */
  readonly onAppend = new Set<() => void>();

  /** Index in `records` of the first record at or above the offset. */
  indexOf(offset: number): number {
    let low = 0;
    let high = this.records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.records[middle]?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export class MemoryTopic {
  readonly name: string;
  /** Differs from the ID of a deleted topic with the same name. */
  readonly id: string;
  readonly partitions: MemoryPartition[];
  readonly replicationFactor: number;
  readonly config: Map<string, string>;
  #roundRobin = 0;

  constructor(spec: TopicSpec, id: string) {
    assert(spec.partitions >= 1, `${spec.name}: a topic has at least one partition`);
    this.name = spec.name;
    this.id = id;
    this.partitions = Array.from({ length: spec.partitions }, () => new MemoryPartition());
    this.replicationFactor = spec.replicationFactor ?? 1;
    this.config = new Map(Object.entries(spec.config));
  }

  /** The maximum size of a record. Real brokers count a few more bytes, which does not matter here. */
  get recordMaxBytes(): number {
    return Number(this.config.get("max.message.bytes") ?? Number.POSITIVE_INFINITY);
  }

  addPartitions(count: number): void {
    for (let added = 0; added < count; added += 1) this.partitions.push(new MemoryPartition());
  }

  partition(index: number): MemoryPartition {
    const partition = this.partitions[index];
    assert(partition !== undefined, `${this.name} has no partition ${index}`);
    return partition;
  }

  /** The partition that a producer chooses. Call this once per record. */
  place(record: OutgoingRecord): number {
    if (record.partition !== undefined) return record.partition;
    if (record.key !== null) return partitionOfKey(record.key, this.partitions.length);
    this.#roundRobin = (this.#roundRobin + 1) % this.partitions.length;
    return this.#roundRobin;
  }

  append(record: OutgoingRecord, partitionIndex: number, timestampMs: number): IncomingRecord {
    const partition = this.partition(partitionIndex);
    const { key, value } = record;
    const appended = new StoredRecord({
      topic: this.name,
      partition: partitionIndex,
      offset: partition.end,
      timestampMs,
      key,
      value,
      headers: allHeaders(record),
    });
    partition.records.push(appended);
    partition.end += 1;
    for (const notify of partition.onAppend) notify();
    return appended;
  }
}

function allHeaders(record: OutgoingRecord): RecordHeaders {
  return record.sharedHeaders === undefined
    ? record.headers
    : [...record.sharedHeaders, ...record.headers];
}

/** The bytes of key, value and headers, which a broker limits. */
export function outgoingBytes(record: OutgoingRecord): number {
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of allHeaders(record)) {
    bytes += Buffer.byteLength(name) + (value?.length ?? 0);
  }
  return bytes;
}

export class MemoryTopics {
  readonly #topics = new Map<string, MemoryTopic>();
  #created = 0;

  names(): string[] {
    return [...this.#topics.keys()];
  }

  find(name: string): MemoryTopic | undefined {
    return this.#topics.get(name);
  }

  get(name: string): MemoryTopic {
    const topic = this.#topics.get(name);
    assert(topic !== undefined, `there is no topic ${name}`);
    return topic;
  }

  /** Creates a topic. An existing topic stays unchanged. */
  create(spec: TopicSpec): void {
    if (this.#topics.has(spec.name)) return;
    this.#created += 1;
    this.#topics.set(spec.name, new MemoryTopic(spec, `memory-topic-${this.#created}`));
  }

  delete(name: string): void {
    this.#topics.delete(name);
  }
}
