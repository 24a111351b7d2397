/** A partition that a consumer in memory owns, with the records that are passed on, finished and to be committed. */

import { type IncomingRecord, recordBytes } from "../../../src/domain/record.ts";
import { Admission } from "../../../src/kafka/consume/admission.ts";
import { Completion } from "../../../src/kafka/consume/completion.ts";
import { encodeHeld, withoutRanges } from "../../../src/kafka/consume/finished-ranges.ts";
import { ProcessedSince } from "../../../src/kafka/consume/processed-since.ts";
import type {
  ConsumeOptions,
  PartitionHandler,
  PartitionProgress,
  Processed,
} from "../../../src/kafka/port.ts";
import type { Offset, TopicPartition } from "./group.ts";
import type { MemoryPartition, MemoryTopic } from "./topics.ts";

const TAKE_MAX = 1_000;

export class OwnedPartition implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** Set to false when the partition is revoked. No records are passed on after that. */
  takes = true;
  readonly #log: MemoryPartition;
  readonly #recordsMaxNow: () => number;
  readonly #completion: Completion;
  readonly #processed: ProcessedSince;
  #handler: PartitionHandler | null = null;
  #onAppend: (() => void) | null = null;
  #admission: Admission | null = null;
  readonly #topicId: string;
  /** Offset of the next record to read. */
  #next: number;
  /** The log end offset as last reported by the broker. */
  #end: number;
  /** The log end offset from a check, which does not cause records to be passed on. */
  #seenEnd = 0;
  #endAtMs: number | null = null;
  #committed: Offset;
  #heldAt: number | null = null;
  #isFenced = false;

  /** @param before the group's commit; null if there is none. */
  constructor(
    at: TopicPartition,
    topic: MemoryTopic,
    committed: Offset,
    before: Offset | null,
    recordsMax: ConsumeOptions["partitionRecordsMax"],
  ) {
    this.topic = at.topic;
    this.partition = at.partition;
    this.#log = topic.partition(at.partition);
    this.#recordsMaxNow = typeof recordsMax === "number" ? () => recordsMax : recordsMax;
    const limits = { topicId: topic.id, recordsMax: this.#recordsMaxNow() };
    this.#completion = new Completion({ ...committed, ...limits });
    const place = { topic: at.topic, partition: at.partition, topicId: topic.id };
    this.#processed = new ProcessedSince(place, this.#completion, before);
    this.#topicId = topic.id;
    this.#next = committed.offset;
    this.#end = this.#log.end;
    this.#committed = committed;
  }

  open(handler: PartitionHandler, onAppend: () => void): void {
    this.#handler = handler;
    this.#onAppend = onAppend;
    this.#admission = new Admission(handler, onAppend, () => {
      const { records } = this.#log;
      return records.slice(this.#log.indexOf(this.#next) + 1).values();
    });
    this.#log.onAppend.add(onAppend);
  }

  /** True if records wait that have not been passed on. */
  get isBehind(): boolean {
    return this.#next < this.#end;
  }

  get inFlightBytes(): number {
    return this.#completion.inFlightBytes;
  }

  progress(): PartitionProgress {
    const { topic, partition } = this;
    const { inFlight, oldestUnfinishedMs } = this.#completion;
    const position = this.#position();
    return {
      topic,
      partition,
      position,
      next: this.#next,
      end: Math.max(position, this.#end, this.#seenEnd),
      endAtMs: this.#endAtMs,
      inFlight,
      oldestUnfinishedMs,
    };
  }

  /** Updates the log end offset without taking records. */
  look(nowMs: number): void {
    this.#seenEnd = this.#log.end;
    this.#endAtMs = nowMs;
  }

  /** Passes on records while there is room. Returns true if there was no room for some. */
  handOver(hasBytesFor: (bytes: number) => boolean): boolean {
    const { records } = this.#log;
    this.#end = this.#log.end;
    if (this.#admission?.isWaiting === true) return false;
    const limit = () => this.#recordsMaxNow() + this.#uncounted(hasBytesFor);
    this.#completion.recordsMax = limit();
    let batch: IncomingRecord[] = [];
    for (let index = this.#log.indexOf(this.#next); index < records.length; index += 1) {
      const record = records[index] as IncomingRecord;
      const bytes = recordBytes(record);
      const isNew = !this.#completion.skips(record.offset);
      const admitted = isNew ? (this.#admission?.admit(record) ?? null) : record;
      if (admitted === null) {
        this.#take(batch);
        return false;
      }
      const taken = hasBytesFor(bytes)
        ? this.#completion.take(record.offset, record.timestampMs, bytes)
        : "full";
      if (taken === "full") {
        this.#take(batch);
        const hasMoreRoom = this.takes && limit() > this.#completion.recordsMax;
        return hasMoreRoom ? this.handOver(hasBytesFor) : true;
      }
      this.#next = record.offset + 1;
      if (taken === "taken") batch.push(admitted);
      if (batch.length < TAKE_MAX) continue;
      this.#take(batch);
      if (!this.takes) return false;
      batch = [];
    }
    this.#completion.passTo(this.#end);
    this.#take(batch);
    return false;
  }

  #uncounted(hasBytesFor: (bytes: number) => boolean): number {
    return hasBytesFor(this.inFlightBytes) ? (this.#handler?.followers ?? 0) : 0;
  }

  /** False if the record is not in flight, or no longer ours. */
  finish(offset: number): boolean {
    return !this.#isFenced && this.#completion.finish(offset) !== null;
  }

  get isFenced(): boolean {
    return this.#isFenced;
  }

  hold(offset: number | null): void {
    this.#heldAt = offset;
  }

  async drain(): Promise<void> {
    await this.#handler?.drain();
  }

  /** The next commit; null if it would change nothing. */
  uncommitted(): (TopicPartition & Offset) | null {
    const { topic, partition } = this;
    const offset = this.#position();
    const isHeld = offset < this.#completion.position;
    const metadata = isHeld
      ? encodeHeld(offset, this.#topicId, this.#completion.position)
      : this.#completion.metadata();
    const { metadata: before } = this.#committed;
    const isSame = metadata === before || (before === "" && metadata === withoutRanges(metadata));
    const isCommitted = offset === this.#committed.offset && isSame;
    return isCommitted ? null : { topic, partition, offset, metadata };
  }

  takeProcessed(isLast: boolean): Processed | null {
    return this.#isFenced ? null : this.#processed.take(isLast);
  }

  committed(offset: Offset): void {
    this.#committed = offset;
  }

  fence(): void {
    this.#isFenced = true;
    if (this.#onAppend !== null) this.#log.onAppend.delete(this.#onAppend);
  }

  #position(): number {
    return Math.min(this.#completion.position, this.#heldAt ?? Number.POSITIVE_INFINITY);
  }

  #take(batch: readonly IncomingRecord[]): void {
    if (batch.length > 0) this.#handler?.take(batch);
  }
}
