/**
 * Represents a topic to which records are written: chooses the partition of each record, and stores records until the
 * partitions are known.
 */

import type { OutgoingRecord } from "../../domain/record.ts";
import type { TopicMetadata } from "../cluster/topic-metadata.ts";
import { murmur2 } from "../wire/murmur2.ts";
import {
  givenBack,
  PartitionBuffer,
  type SendCall,
  type WaitingRecord,
} from "./partition-buffer.ts";
import { WriteFailures } from "./write-failures.ts";

/** Below Kafka's default batch limit of 1 MiB, because estimates may be slightly too low. */
const BATCH_MAX_BYTES = 1_000_000;

const NO_LEADER = "LEADER_NOT_AVAILABLE";
const NO_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION";

export class ProduceTopic {
  readonly name: string;
  readonly recordMaxBytes: number;
  /**
   * By partition number; empty until the topic is known. Buffers of removed partitions are kept, because a buffer's
   * producer ID and sequence number are needed if the partition comes back.
   */
  readonly buffers: PartitionBuffer[] = [];
  /** The last error that was logged because the brokers hide the topic; null if the topic is visible. */
  reportedError: string | null = null;
  /** `true` if the metadata is incomplete and a timer will fetch it again. */
  isRetryTimed = false;
  /** Failures of the whole topic, which occur if the topic does not exist. */
  readonly block = new WriteFailures();
  /** Failures of records that name a partition which the topic does not have. */
  readonly #absence = new WriteFailures();
  /** `true` while a timer is set to check the topic's failures. */
  isWatched = false;
  /** `true` if a record was added, or was returned immediately, after the last refresh of topics. */
  wasUsed = true;
  /** The number of refreshes since the topic was last used. */
  idleRounds = 0;
  /** `true` if the topic or one of its partitions has rejected a write, and may still reject writes. */
  mayBeBlocked = false;
  #batchMaxBytes: number;
  #unplaced: WaitingRecord[] = [];
  #partitions = 0;
  #next = 0;

  constructor(name: string, recordMaxBytes: number) {
    this.name = name;
    this.recordMaxBytes = recordMaxBytes;
    this.#batchMaxBytes = Math.min(BATCH_MAX_BYTES, recordMaxBytes);
  }

  /** Maximum bytes of a batch with several records. */
  get batchMaxBytes(): number {
    return this.#batchMaxBytes;
  }

  /** The number of partitions; 0 if unknown. */
  get partitions(): number {
    return this.#partitions;
  }

  get hasLeaders(): boolean {
    return this.#partitions > 0 && this.#current.every(({ leader }) => leader !== null);
  }

  /** Returns the failures of the topic or of one of its partitions; null if the whole topic is writable. */
  blockNow(nowMs: number): WriteFailures | null {
    const blocks = [this.block, this.#absence, ...this.buffers.map(({ block }) => block)];
    return blocks.find((block) => block.isBlocked(nowMs)) ?? null;
  }

  /**
   * Returns a partition that does not exist, and for which records have waited for long enough; null if there is none.
   */
  absentPartition(nowMs: number): number | null {
    return this.#absence.isBlocked(nowMs) ? this.#named : null;
  }

  /** `true` if the topic has rejected a write that will be retried, or one of its partitions has no leader. */
  get isRejecting(): boolean {
    if (this.block.sinceMs !== null || this.#absence.sinceMs !== null) return true;
    return this.#current.some(({ leader }) => leader === null);
  }

  /** Returns the failures of the record's topic or partition that would make the record wait; null if there are none. */
  blockFor(record: OutgoingRecord, nowMs: number): WriteFailures | null {
    this.wasUsed = true;
    const blocks = [this.block, ...this.buffers.map(({ block }) => block)];
    this.mayBeBlocked = blocks.some(({ sinceMs }) => sinceMs !== null);
    if (this.block.isBlocked(nowMs)) return this.block;
    // The partition of a record without a key is chosen by round-robin, so the record may still be written to another
    // partition.
    if (record.key === null && record.partition === undefined) return null;
    const buffer = this.#bufferOf(record);
    if (buffer === null || !buffer.block.isBlocked(nowMs)) return null;
    const mayProbe = buffer.leader !== null && buffer.isEmpty && buffer.block.mayProbe(nowMs);
    return mayProbe ? null : buffer.block;
  }

  /**
   * Returns records to their callers if they wait for a topic or partition that is not writable.
   *
   * @param withdraw called with each buffer before its records are returned.
   */
  giveBack(nowMs: number, withdraw: (buffer: PartitionBuffer) => void): void {
    const isMissing = this.block.isBlocked(nowMs);
    // If the topic is known, each record without a buffer names a partition that does not exist.
    const { by, error } = isMissing ? this.block : this.#absence;
    if (isMissing || this.#absence.isBlocked(nowMs)) {
      const unplaced = this.#unplaced;
      this.#unplaced = [];
      for (const each of unplaced) {
        if (each.call.giveBack) givenBack(each.call, each.record, by, error);
        else this.#unplaced.push(each);
      }
    }
    for (const buffer of this.buffers) {
      if (buffer.state === "in-flight" || buffer.isEmpty) continue;
      const block = isMissing ? this.block : buffer.block;
      if (!block.isBlocked(nowMs)) continue;
      withdraw(buffer);
      buffer.giveBack(block);
    }
  }

  /** The buffers, without those of removed partitions. */
  get #current(): readonly PartitionBuffer[] {
    return this.buffers.length === this.#partitions
      ? this.buffers
      : this.buffers.slice(0, this.#partitions);
  }

  /** `true` if there are records whose partition is unknown. */
  get isWaiting(): boolean {
    return this.#unplaced.length > 0;
  }

  get hasRecords(): boolean {
    return this.isWaiting || this.buffers.some((buffer) => !buffer.isEmpty);
  }

  /** Adds a record. Returns the buffer in which it now waits; null while the topic is unknown. */
  add(record: OutgoingRecord, bytes: number, call: SendCall): PartitionBuffer | null {
    this.wasUsed = true;
    const buffer = this.#bufferOf(record);
    if (buffer === null) this.#unplaced.push({ record, bytes, call });
    else buffer.add(record, bytes, call);
    return buffer;
  }

  /**
   * Applies partitions and leaders, and returns the buffers that have records and a leader. If a partition is gone
   * because the topic was recreated, its records get another partition. Records that name the partition wait for it.
   * Batches that were too large may be larger again, because the topic's limit may have been raised.
   *
   * @param dropId called before a batch that may have been written is dropped.
   */
  update(
    { partitions }: TopicMetadata,
    nowMs: number,
    dropId: (buffer: PartitionBuffer) => void,
  ): PartitionBuffer[] {
    const batchMaxBytes = 2 * this.#batchMaxBytes;
    this.#batchMaxBytes = Math.min(batchMaxBytes, BATCH_MAX_BYTES, this.recordMaxBytes);
    // The partitions have rejected records because the topic did not exist.
    if (this.block.sinceMs !== null)
      for (const buffer of this.buffers) buffer.block.recordSuccess();
    this.block.recordSuccess();
    for (const { partitionIndex, leaderId } of partitions) {
      this.buffers[partitionIndex] ??= new PartitionBuffer(this, partitionIndex);
      const buffer = this.buffers[partitionIndex];
      const hadLeader = buffer.leader !== null;
      buffer.leader = leaderId >= 0 ? leaderId : null;
      if (buffer.leader === null) buffer.block.recordRejection("unavailable", NO_LEADER, nowMs);
      else if (!hadLeader) buffer.block.recordSuccess();
    }
    this.#partitions = partitions.length;
    const moved: WaitingRecord[] = [];
    for (const buffer of this.buffers.slice(this.#partitions)) {
      buffer.leader = null;
      buffer.block.recordSuccess();
      // The response must arrive first. The topic is looked up again after that.
      if (buffer.state === "in-flight") continue;
      if (buffer.mayBeWritten) dropId(buffer);
      moved.push(...buffer.abort());
    }
    const unplaced = [...moved, ...this.#unplaced];
    this.#unplaced = [];
    for (const { record, bytes, call } of unplaced) this.add(record, bytes, call);
    this.#lookForAbsent(nowMs);
    return this.buffers.filter((buffer) => buffer.leader !== null && !buffer.isEmpty);
  }

  #lookForAbsent(nowMs: number): void {
    const named = this.#named;
    if (named === null) this.#absence.recordSuccess();
    else
      this.#absence.recordRejection("unavailable", `${NO_PARTITION}: no partition ${named}`, nowMs);
  }

  /** The partition that is named by the first record without a buffer. */
  get #named(): number | null {
    const found = this.#unplaced.find(({ record }) => record.partition !== undefined);
    return found?.record.partition ?? null;
  }

  /**
   * Call when the broker accepts only smaller batches. The rejected batch exceeded the broker's limit, so the
   * new limit is more than half of the broker's.
   */
  batchWasTooLarge(bytes: number): void {
    this.#batchMaxBytes = Math.min(this.#batchMaxBytes, bytes / 2);
  }

  /** Chooses the partition by murmur2 of the key, like the Java client; without a key, by round-robin. */
  #bufferOf(record: OutgoingRecord): PartitionBuffer | null {
    const count = this.#partitions;
    if (record.partition !== undefined) {
      return record.partition < count ? (this.buffers[record.partition] ?? null) : null;
    }
    if (count === 0) return null;
    // The key is read only once, because some records decode their key on each access.
    const { key } = record;
    if (key !== null) return this.buffers[positiveHash(key) % count] ?? null;
    this.#next = (this.#next + 1) % count;
    return this.buffers[this.#next] ?? null;
  }
}

/** Cached, because the deliveries of a call share the key object. */
let lastKey: Buffer | null = null;
let lastHash = 0;

function positiveHash(key: Buffer): number {
  if (key !== lastKey) {
    lastKey = key;
    lastHash = murmur2(key) & 0x7fffffff;
  }
  return lastHash;
}
