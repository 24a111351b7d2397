/** A topic that is written: which partition a record goes to, and what waits for metadata. */

import type { OutgoingRecord } from "../domain/record.ts";
import { murmur2 } from "./murmur2.ts";
import { ProduceLane, type SendCall } from "./produce-lane.ts";
import type { TopicMetadata } from "./topic-metadata.ts";

/** Fits into a batch limit of 1 MiB, Kafka's default, with what is estimated too low. */
const BATCH_BYTES_MAX = 1_000_000;

interface Unplaced {
  readonly record: OutgoingRecord;
  readonly bytes: number;
  readonly call: SendCall;
}

export class ProduceTopic {
  readonly name: string;
  readonly recordBytesMax: number;
  /** By partition number; empty until the topic is known. */
  readonly lanes: ProduceLane[] = [];
  isReportedMissing = false;
  /** It lacks something, and a timer asks for it again. */
  isAskedAgain = false;
  #batchBytesMax: number;
  #unplaced: Unplaced[] = [];
  #next = 0;

  constructor(name: string, recordBytesMax: number) {
    this.name = name;
    this.recordBytesMax = recordBytesMax;
    this.#batchBytesMax = Math.min(BATCH_BYTES_MAX, recordBytesMax);
  }

  /** A batch with several records is at most so large. */
  get batchBytesMax(): number {
    return this.#batchBytesMax;
  }

  get hasLeaders(): boolean {
    return this.lanes.length > 0 && this.lanes.every(({ leader }) => leader !== null);
  }

  /** Records whose partition is not known. */
  get isWaiting(): boolean {
    return this.#unplaced.length > 0;
  }

  get hasRecords(): boolean {
    return this.isWaiting || this.lanes.some((lane) => !lane.isEmpty);
  }

  /** The lane that the record now waits in; null while the topic is not known. */
  add(record: OutgoingRecord, bytes: number, call: SendCall): ProduceLane | null {
    const lane = this.#laneOf(record);
    if (lane === null) this.#unplaced.push({ record, bytes, call });
    else lane.add(record, bytes, call);
    return lane;
  }

  /** Takes over partitions and leaders; returns the lanes with records that somebody takes. */
  update({ partitionMetadata }: TopicMetadata): ProduceLane[] {
    for (const { partitionId, leader } of partitionMetadata) {
      this.lanes[partitionId] ??= new ProduceLane(this, partitionId);
      const lane = this.lanes[partitionId];
      lane.leader = leader >= 0 ? leader : null;
    }
    const unplaced = this.#unplaced;
    this.#unplaced = [];
    for (const { record, bytes, call } of unplaced) this.add(record, bytes, call);
    return this.lanes.filter((lane) => lane.leader !== null && !lane.isEmpty);
  }

  /**
   * The broker takes less than was thought. Halving ends above half of what it does take, as a
   * single record is never the reason.
   */
  batchWasTooLarge(bytes: number): void {
    this.#batchBytesMax = Math.min(this.#batchBytesMax, bytes / 2);
  }

  /** Murmur2 of the key as Java does; without a key in turn. */
  #laneOf(record: OutgoingRecord): ProduceLane | null {
    const count = this.lanes.length;
    if (record.partition !== undefined) return this.lanes[record.partition] ?? null;
    if (count === 0) return null;
    // Asked for once: some records decode it each time.
    const { key } = record;
    if (key !== null) return this.lanes[positiveHash(key) % count] ?? null;
    this.#next = (this.#next + 1) % count;
    return this.lanes[this.#next] ?? null;
  }
}

/** The copies of a call share the key object. */
let lastKey: Buffer | null = null;
let lastHash = 0;

function positiveHash(key: Buffer): number {
  if (key !== lastKey) {
    lastKey = key;
    lastHash = murmur2(key) & 0x7fffffff;
  }
  return lastHash;
}
