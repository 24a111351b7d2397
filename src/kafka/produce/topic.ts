/** A topic that is written: it chooses each record's partition, and keeps records until it is known. */

import type { OutgoingRecord } from "../../domain/record.ts";
import type { TopicMetadata } from "../cluster/topic-metadata.ts";
import { murmur2 } from "../wire/murmur2.ts";
import {
  givenBack,
  PartitionBuffer,
  type SendCall,
  unbundled,
  type WaitingRecord,
} from "./partition-buffer.ts";
import { WriteFailures } from "./write-failures.ts";

/** Fits into a batch limit of 1 MiB, Kafka's default. Estimates may be a little too low. */
const BATCH_MAX_BYTES = 1_000_000;

const NO_LEADER = "LEADER_NOT_AVAILABLE";
const NO_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION";

export class ProduceTopic {
  readonly name: string;
  readonly recordMaxBytes: number;
  /**
   * By partition number; empty until the topic is known. Those of partitions that are gone stay: a
   * buffer keeps its producer id and sequence, should its partition come back.
   */
  readonly buffers: PartitionBuffer[] = [];
  /** Why the brokers do not show it, as last logged; null: they show it. */
  reportedError: string | null = null;
  /** It lacks something, and a timer asks for it again. */
  isRetryTimed = false;
  /** Of the whole topic: whether the brokers know it. */
  readonly block = new WriteFailures();
  /** Of partitions that records name and that it does not have. */
  readonly #absence = new WriteFailures();
  /** A timer looks at its blocks. */
  isWatched = false;
  /** A record was added, or given back at once, since the topics were last looked through. */
  wasUsed = true;
  /** How often they were looked through since. */
  idleRounds = 0;
  /** It or one of its partitions refused something, and may refuse still. */
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

  /** A batch with several records is at most so large. */
  get batchMaxBytes(): number {
    return this.#batchMaxBytes;
  }

  /** 0: they are not known. */
  get partitions(): number {
    return this.#partitions;
  }

  get hasLeaders(): boolean {
    return this.#partitions > 0 && this.#current.every(({ leader }) => leader !== null);
  }

  /** Of the topic, or of one of its partitions; null: all of it takes records. */
  blockNow(nowMs: number): WriteFailures | null {
    const blocks = [this.block, this.#absence, ...this.buffers.map(({ block }) => block)];
    return blocks.find((block) => block.isBlocked(nowMs)) ?? null;
  }

  /** A partition that a record has named for long enough, and that it does not have; null: none. */
  absentPartition(nowMs: number): number | null {
    return this.#absence.isBlocked(nowMs) ? this.#named : null;
  }

  /** Whether something that it refuses is looked at again. */
  get isRejecting(): boolean {
    if (this.block.sinceMs !== null || this.#absence.sinceMs !== null) return true;
    return this.#current.some(({ leader }) => leader === null);
  }

  /** The block of the place that the record would wait in, when it would wait in vain. */
  blockFor(record: OutgoingRecord, nowMs: number): WriteFailures | null {
    this.wasUsed = true;
    const blocks = [this.block, ...this.buffers.map(({ block }) => block)];
    this.mayBeBlocked = blocks.some(({ sinceMs }) => sinceMs !== null);
    if (this.block.isBlocked(nowMs)) return this.block;
    // A record without a key goes round robin, and may go elsewhere after all.
    if (record.key === null && record.partition === undefined) return null;
    const buffer = this.#bufferOf(record);
    if (buffer === null || !buffer.block.isBlocked(nowMs)) return null;
    const mayProbe = buffer.leader !== null && buffer.isEmpty && buffer.block.mayProbe(nowMs);
    return mayProbe ? null : buffer.block;
  }

  /**
   * Gives back the records that wait in vain.
   *
   * @param withdraw called with each buffer whose records are given back, before that.
   */
  giveBack(nowMs: number, withdraw: (buffer: PartitionBuffer) => void): void {
    const isMissing = this.block.isBlocked(nowMs);
    // Of a topic that is known, only those wait unplaced whose partition is not there.
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

  /** Without the buffers of partitions that are gone. */
  get #current(): readonly PartitionBuffer[] {
    return this.buffers.length === this.#partitions
      ? this.buffers
      : this.buffers.slice(0, this.#partitions);
  }

  /** Records whose partition is not known. */
  get isWaiting(): boolean {
    return this.#unplaced.length > 0;
  }

  get hasRecords(): boolean {
    return this.isWaiting || this.buffers.some((buffer) => !buffer.isEmpty);
  }

  /** The buffer that the record now waits in; null while the topic is not known. */
  add(record: OutgoingRecord, bytes: number, call: SendCall): PartitionBuffer | null {
    this.wasUsed = true;
    const buffer = this.#bufferOf(record);
    if (buffer === null) this.#unplaced.push({ record, bytes, call });
    else buffer.add(record, bytes, call);
    return buffer;
  }

  /**
   * Takes over partitions and leaders. Returns the buffers that have records and a leader. Records of a
   * partition that is gone, because the topic was recreated, are placed again. Those that name it wait
   * for it.
   *
   * @param dropId called before a batch is given up that may be written.
   */
  update(
    { partitionMetadata }: TopicMetadata,
    nowMs: number,
    dropId: (buffer: PartitionBuffer) => void,
  ): PartitionBuffer[] {
    // Its partitions have refused records because there was no topic.
    if (this.block.sinceMs !== null)
      for (const buffer of this.buffers) buffer.block.recordSuccess();
    this.block.recordSuccess();
    for (const { partitionId, leader } of partitionMetadata) {
      this.buffers[partitionId] ??= new PartitionBuffer(this, partitionId);
      const buffer = this.buffers[partitionId];
      const hadLeader = buffer.leader !== null;
      buffer.leader = leader >= 0 ? leader : null;
      if (buffer.leader === null) buffer.block.recordRejection("unavailable", NO_LEADER, nowMs);
      else if (!hadLeader) buffer.block.recordSuccess();
    }
    this.#partitions = partitionMetadata.length;
    const moved: WaitingRecord[] = [];
    for (const buffer of this.buffers.slice(this.#partitions)) {
      buffer.leader = null;
      buffer.block.recordSuccess();
      // Its answer comes first: then the topic is asked for again.
      if (buffer.state === "in-flight") continue;
      if (buffer.mayBeWritten) dropId(buffer);
      moved.push(...buffer.abort());
    }
    // The keys of a bundle may belong elsewhere by now.
    const unplaced = [...moved, ...this.#unplaced].flatMap((each) =>
      each.record.bundle === undefined ? each : unbundled(each),
    );
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

  /** By the first record that waits for a partition. */
  get #named(): number | null {
    const found = this.#unplaced.find(({ record }) => record.partition !== undefined);
    return found?.record.partition ?? null;
  }

  /**
   * The broker takes only smaller batches. Halving ends above half of its limit: a single record is
   * never the reason.
   */
  batchWasTooLarge(bytes: number): void {
    this.#batchMaxBytes = Math.min(this.#batchMaxBytes, bytes / 2);
  }

  /** Murmur2 of the key as Java does; without a key in turn. */
  #bufferOf(record: OutgoingRecord): PartitionBuffer | null {
    const count = this.#partitions;
    if (record.partition !== undefined) {
      return record.partition < count ? (this.buffers[record.partition] ?? null) : null;
    }
    if (count === 0) return null;
    // Read once: some records decode it each time.
    const { key } = record;
    if (key !== null) return this.buffers[positiveHash(key) % count] ?? null;
    this.#next = (this.#next + 1) % count;
    return this.buffers[this.#next] ?? null;
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
