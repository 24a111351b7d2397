/**
 * The records that wait for one partition, in the order in which they were sent.
 *
 *   state       means                                             sent with the next request
 *   idle        nothing is in flight                              yes, if it has records
 *   in-flight   a batch is sent, and has no response yet          no
 *   waiting     the last attempt failed; a timer will retry        no
 *
 * One batch is in flight at a time, so retries do not change the order. The records of a batch stay in the buffer until
 * the batch is acknowledged, so retrying or splitting a batch only changes counts.
 *
 * From the producer ID and the sequence number, a broker recognizes a batch that it already has, and acknowledges it.
 * The same ID and sequence number must therefore never be used for two batches: the buffer stores the ID together with
 * the next sequence number, and starts at 0 only with an ID that it has never used.
 *
 * A record that may be compressed is compressed after the broker has rejected it as too large, and is then sent as a
 * separate batch.
 */

import assert from "node:assert/strict";

import type { InFlightItem } from "../../base/runtime/in-flight-set.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { BlockedBy, RejectedRecord } from "../port.ts";
import { compressRecord } from "../wire/encode-produce.ts";
import type { ProducerId } from "./producer-id.ts";
import { WriteFailures } from "./write-failures.ts";

/** One call of `send`. */
export interface SendCall extends InFlightItem {
  /** The number of records that are not acknowledged yet. */
  unacknowledged: number;
  readonly rejected: RejectedRecord[];
  /** `true` if records should be returned when their topic is not writable. */
  readonly giveBack: boolean;
  readonly resolve: (rejected: readonly RejectedRecord[]) => void;
  readonly reject: (error: Error) => void;
}

/** A record, and the `send` call to which it belongs. */
export interface WaitingRecord {
  readonly record: OutgoingRecord;
  readonly bytes: number;
  readonly call: SendCall;
}

export interface BufferedTopic {
  readonly name: string;
  readonly batchMaxBytes: number;
  batchWasTooLarge(bytes: number): void;
}

/**
 * Returns a record to its `send` call, because its topic does not accept it. The call then no longer waits for the
 * record.
 */
export function givenBack(
  call: SendCall,
  record: OutgoingRecord,
  blocked: BlockedBy,
  error: string,
): void {
  call.rejected.push({ record, error, blocked });
  call.unacknowledged -= 1;
  if (call.unacknowledged === 0) call.resolve(call.rejected);
}

/** Bytes of an encoded record without its payload. */
export const RECORD_OVERHEAD_BYTES = 24;
/**
 * Acknowledged records are removed from the queue when there are at least this many, and they are half of the queue.
 */
const COMPACT_AT = 4_096;
const SEQUENCE_MODULUS = 2 ** 31;
/** Maximum number of records in a batch. It is reached only with tiny records. */
const BATCH_RECORDS_MAX = 20_000;

/**
 * All empty buffers share this array. Otherwise, each buffer's array would reach the old generation while the buffer is
 * empty, and would keep former records in memory (docs/decisions/0007-garbage-collection.md#an-empty-array-that-waits).
 */
const EMPTY: never[] = [];

export class PartitionBuffer {
  readonly topic: BufferedTopic;
  readonly partition: number;
  /** The broker that leads the partition; null if there is currently none. Set by `ProduceTopic`, from metadata. */
  leader: number | null = null;
  /** Set by `ProduceRounds`, when a request is sent, has a response, or is retried. */
  state: "idle" | "in-flight" | "waiting" = "idle";
  /** `true` if the buffer is in the queue of buffers to be sent, to which only `ProduceRounds` adds. */
  isQueued = false;
  readonly block = new WriteFailures();
  /** The records from `#head` on wait. `add` appends; records leave when they are acknowledged, rejected or returned. */
  #records: OutgoingRecord[] = EMPTY;
  #bytes: number[] = EMPTY;
  #calls: SendCall[] = EMPTY;
  #head = 0;
  /** The producer ID to which `#sequence` belongs. Set when a batch is sent; null after a batch was dropped. */
  #id: ProducerId | null = null;
  /** Rises when a batch is acknowledged, and starts at 0 with each new ID. */
  #sequence = 0;
  /** Counts until records leave. */
  #failures = 0;
  /** The number of records in the latest batch. Only `cut` changes it, and not while the batch may have been written. */
  #count = 0;
  #batchBytes = 0;
  /**
   * `true` if the latest batch may have been written, so that it must be repeated unchanged: from a failure without a clear
   * response until the batch is acknowledged, or dropped together with its ID.
   */
  #mayBeWritten = false;
  /** `true` if the buffer has ever had a compressed record. */
  #hasCompressed = false;

  constructor(topic: BufferedTopic, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get isEmpty(): boolean {
    return this.#head === this.#records.length;
  }

  /** `true` if the latest batch may have been written. */
  get mayBeWritten(): boolean {
    return this.#mayBeWritten;
  }

  /** The producer ID with which the last batch was sent. */
  get id(): ProducerId | null {
    return this.#id;
  }

  /** The sequence number of the next batch's first record, with the producer ID `id`. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The number of consecutive failed attempts. */
  get failures(): number {
    return this.#failures;
  }

  add(record: OutgoingRecord, bytes: number, call: SendCall): void {
    if (this.isEmpty) {
      this.#records = [record];
      this.#bytes = [bytes];
      this.#calls = [call];
      this.#head = 0;
    } else {
      this.#records.push(record);
      this.#bytes.push(bytes);
      this.#calls.push(call);
    }
    if (record.compression?.bytes) this.#hasCompressed = true;
  }

  /**
   * Creates the next batch from at least one record, and from as many more as fit. Must not be called if the buffer is
   * empty.
   */
  cut(): { readonly records: readonly OutgoingRecord[]; readonly bytes: number } {
    assert(!this.isEmpty && this.state !== "in-flight");
    if (!this.#mayBeWritten) {
      const most = this.#isCompressed(this.#head) ? 1 : BATCH_RECORDS_MAX;
      const end = Math.min(this.#records.length, this.#head + most);
      let at = this.#head + 1;
      let bytes = this.#bytes[this.#head] ?? 0;
      for (; at < end; at += 1) {
        const next = bytes + (this.#bytes[at] ?? 0);
        if (next > this.topic.batchMaxBytes || this.#isCompressed(at)) break;
        bytes = next;
      }
      this.#count = at - this.#head;
      this.#batchBytes = bytes;
    }
    return {
      records: this.#records.slice(this.#head, this.#head + this.#count),
      bytes: this.#batchBytes,
    };
  }

  /**
   * The producer ID for the latest batch: the current ID, unless the batch may already have been written under
   * another ID.
   */
  idFor(current: ProducerId): ProducerId {
    if (this.#id !== null && (this.#id === current || this.#mayBeWritten)) return this.#id;
    this.#id = current;
    this.#sequence = 0;
    return current;
  }

  acknowledge(): void {
    this.#sequence = (this.#sequence + this.#count) % SEQUENCE_MODULUS;
    this.#leave(this.#count);
  }

  /**
   * Makes the next batch smaller. A single record is compressed, or rejected if it cannot be compressed. If the batch
   * may have been written, a new ID is used.
   */
  shrink(error: string): void {
    if (this.#mayBeWritten) this.#id = null;
    if (this.#count > 1) {
      this.topic.batchWasTooLarge(this.#batchBytes);
      this.#mayBeWritten = false;
      return;
    }
    const record = this.#records[this.#head];
    if (record?.compression?.bytes === null) {
      record.compression.bytes = compressRecord(record);
      this.#bytes[this.#head] = record.compression.bytes.length + RECORD_OVERHEAD_BYTES;
      this.#hasCompressed = true;
      this.#mayBeWritten = false;
      return;
    }
    if (record !== undefined) this.#calls[this.#head]?.rejected.push({ record, error });
    this.#leave(1);
  }

  /**
   * Returns records to those `send` calls that requested it with `giveBack`. Must not be called while a batch is in
   * flight. A batch that may have been written is dropped; the next batch then needs a new ID.
   */
  giveBack({ by, error }: WriteFailures): void {
    assert(this.state !== "in-flight");
    const records = this.#records.slice(this.#head);
    const bytes = this.#bytes.slice(this.#head);
    const calls = this.#calls.slice(this.#head);
    this.#clear();
    if (this.#mayBeWritten) this.#id = null;
    this.#mayBeWritten = false;
    records.forEach((record, at) => {
      const call = calls[at];
      if (call === undefined) return;
      if (call.giveBack) givenBack(call, record, by, error);
      else this.add(record, bytes[at] ?? 0, call);
    });
  }

  recordFailure(mayBeWritten: boolean): void {
    this.#failures += 1;
    this.#mayBeWritten ||= mayBeWritten;
  }

  /** Call after dropping the buffer's ID because the broker accepts no more batches with it. */
  rejectId(): void {
    this.#failures += 1;
    this.#mayBeWritten = false;
    // The next batch may fail before it has a new ID.
    this.#id = null;
  }

  /**
   * Removes all records, because the topic was recreated without this partition. If a batch may have been
   * written, the caller must have dropped the buffer's ID.
   */
  abort(): readonly WaitingRecord[] {
    assert(this.state !== "in-flight");
    const given = this.#records.slice(this.#head).map((record, index) => ({
      record,
      bytes: this.#bytes[this.#head + index] ?? 0,
      call: this.#calls[this.#head + index],
    }));
    if (this.#mayBeWritten) this.#id = null;
    this.#mayBeWritten = false;
    this.#failures = 0;
    this.#clear();
    return given.flatMap(({ call, ...rest }) => (call === undefined ? [] : [{ ...rest, call }]));
  }

  #isCompressed(at: number): boolean {
    return this.#hasCompressed && Boolean(this.#records[at]?.compression?.bytes);
  }

  #leave(count: number): void {
    this.block.recordSuccess();
    this.#mayBeWritten = false;
    this.#failures = 0;
    const end = this.#head + count;
    assert(count > 0 && end <= this.#records.length);
    for (let at = this.#head; at < end; at += 1) {
      const call = this.#calls[at];
      if (call === undefined) continue;
      call.unacknowledged -= 1;
      if (call.unacknowledged === 0) call.resolve(call.rejected);
    }
    this.#head = end;
    if (this.isEmpty) this.#clear();
    if (this.#head < COMPACT_AT || this.#head * 2 < this.#records.length) return;
    this.#records = this.#records.slice(this.#head);
    this.#bytes = this.#bytes.slice(this.#head);
    this.#calls = this.#calls.slice(this.#head);
    this.#head = 0;
  }

  #clear(): void {
    this.#records = this.#bytes = this.#calls = EMPTY;
    this.#head = 0;
  }
}
