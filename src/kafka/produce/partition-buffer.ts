/**
 * The records that wait for one partition, in the order in which they were sent.
 *
 *   state       means                                             sent with the next request
 *   idle        nothing is in flight                              yes, if it has records
 *   in-flight   a batch is sent, without a response               no
 *   waiting     the last try failed, and the next one has a time  no
 *
 * One batch is in flight at a time, which keeps the order whatever is retried. Its records stay in the
 * queue until it is acknowledged, so retrying or splitting it only changes counts.
 *
 * A broker recognizes a batch that it already has by its producer ID and sequences, and acknowledges it.
 * These must therefore never be used for two batches: the buffer keeps both together, and starts at 0
 * only with an ID that it has never had.
 *
 * A bundle is a batch of its own. One that is larger than the topic allows is sent as the records that
 * it contains. A record that may be compressed is compressed once the broker has rejected it, and is
 * then a batch of its own as well.
 */

import { type OutgoingRecord, recordCount } from "../../domain/record.ts";
import type { InFlightItem } from "../../runtime/in-flight-set.ts";
import type { BlockedBy, RejectedRecord } from "../port.ts";
import { compressRecord } from "../wire/encode-produce.ts";
import type { ProducerId } from "./producer-id.ts";
import { WriteFailures } from "./write-failures.ts";

/** One `send`. */
export interface SendCall extends InFlightItem {
  /** Records that are not acknowledged yet. */
  unacknowledged: number;
  readonly rejected: RejectedRecord[];
  /** Its records are returned if their topic is not writable. */
  readonly giveBack: boolean;
  readonly resolve: (rejected: readonly RejectedRecord[]) => void;
  readonly reject: (error: Error) => void;
}

/** A record, and the `send` that it belongs to. */
export interface WaitingRecord {
  readonly record: OutgoingRecord;
  readonly bytes: number;
  readonly call: SendCall;
}

/** The part of a topic that its buffers need. */
export interface BufferedTopic {
  readonly name: string;
  readonly batchMaxBytes: number;
  batchWasTooLarge(bytes: number): void;
}

/** Ends the call's wait for a record that its topic does not accept. */
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

/** Bytes of an encoded record besides its payload. */
export const RECORD_OVERHEAD_BYTES = 24;
/** Acknowledged records are dropped when there are this many, and they are half of the queue. */
const COMPACT_AT = 4_096;
const SEQUENCE_MODULUS = 2 ** 31;
/** Far more tiny records than a batch should contain. */
const BATCH_RECORDS_MAX = 20_000;

/** One item for each record in a bundle. Its call waits for all of them. */
export function unbundled({ record, call }: WaitingRecord): readonly WaitingRecord[] {
  const records = record.bundle?.records() ?? [];
  call.unacknowledged += records.length - 1;
  return records.map((each) => {
    return { record: each, bytes: (each.encoded?.length ?? 0) + RECORD_OVERHEAD_BYTES, call };
  });
}

/** An array that waits for a record reaches the old generation, and keeps alive what it has held (0043). */
const EMPTY: never[] = [];

export class PartitionBuffer {
  readonly topic: BufferedTopic;
  readonly partition: number;
  /** The node that accepts the records; null if there is none at the moment. */
  leader: number | null = null;
  state: "idle" | "in-flight" | "waiting" = "idle";
  /** It is in the queue of buffers that are to be sent. */
  isQueued = false;
  readonly block = new WriteFailures();
  #records: OutgoingRecord[] = EMPTY;
  #bytes: number[] = EMPTY;
  #calls: SendCall[] = EMPTY;
  #head = 0;
  /** The producer ID that `#sequence` belongs to. */
  #id: ProducerId | null = null;
  #sequence = 0;
  #failures = 0;
  /** Records and bytes of the latest batch. */
  #count = 0;
  #batchBytes = 0;
  /** The latest batch may have been written: it must be repeated unchanged. */
  #mayBeWritten = false;
  /** It has had a bundle at some time, or has compressed a record. */
  #hasBundles = false;

  constructor(topic: BufferedTopic, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get isEmpty(): boolean {
    return this.#head === this.#records.length;
  }

  /** The latest batch may have been written. */
  get mayBeWritten(): boolean {
    return this.#mayBeWritten;
  }

  /** The producer ID that the last batch was sent with. */
  get id(): ProducerId | null {
    return this.#id;
  }

  /** The sequence of the next batch's first record, under `id`. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Failed tries in a row. */
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
    if (record.bundle !== undefined || record.compression?.bytes) this.#hasBundles = true;
  }

  /** The next batch: at least one record, and as many more as fit. Not for an empty buffer. */
  cut(): { readonly records: readonly OutgoingRecord[]; readonly bytes: number } {
    if (!this.#mayBeWritten) {
      if (this.#hasBundles) this.#unbundle();
      const most = this.#isBundle(this.#head) ? 1 : BATCH_RECORDS_MAX;
      const end = Math.min(this.#records.length, this.#head + most);
      let at = this.#head + 1;
      let bytes = this.#bytes[this.#head] ?? 0;
      for (; at < end; at += 1) {
        const next = bytes + (this.#bytes[at] ?? 0);
        if (next > this.topic.batchMaxBytes || this.#isBundle(at)) break;
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
   * The producer ID for the latest batch: the current one, unless the batch may already be written under
   * another one.
   */
  idFor(current: ProducerId): ProducerId {
    if (this.#id !== null && (this.#id === current || this.#mayBeWritten)) return this.#id;
    this.#id = current;
    this.#sequence = 0;
    return current;
  }

  acknowledge(): void {
    this.#sequence = (this.#sequence + this.#batchRecords) % SEQUENCE_MODULUS;
    this.#leave(this.#count);
  }

  /**
   * Makes the next batch smaller; a single record is compressed, or otherwise rejected. If it may be
   * written, a new ID is used.
   */
  shrink(error: string): void {
    if (this.#mayBeWritten) this.#id = null;
    if (this.#batchRecords > 1) {
      this.topic.batchWasTooLarge(this.#batchBytes);
      this.#mayBeWritten = false;
      return;
    }
    const record = this.#records[this.#head];
    if (record?.compression?.bytes === null) {
      record.compression.bytes = compressRecord(record);
      this.#bytes[this.#head] = record.compression.bytes.length + RECORD_OVERHEAD_BYTES;
      this.#hasBundles = true;
      this.#mayBeWritten = false;
      return;
    }
    if (record !== undefined) this.#calls[this.#head]?.rejected.push({ record, error });
    this.#leave(1);
  }

  /**
   * Returns the records of sends that requested it. Not while a batch is in flight. A batch that may be
   * written is dropped: the next one needs a new ID.
   */
  giveBack({ by, error }: WriteFailures): void {
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

  /** The broker accepts nothing more under the buffer's ID, which has been dropped. */
  rejectId(): void {
    this.#failures += 1;
    this.#mayBeWritten = false;
    // The next batch may fail before it has a new ID.
    this.#id = null;
  }

  /**
   * Removes all records, because the topic was recreated without this partition. If a batch may be
   * written, the caller has dropped the buffer's ID.
   */
  abort(): readonly WaitingRecord[] {
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

  #isBundle(at: number): boolean {
    if (!this.#hasBundles) return false;
    const record = this.#records[at];
    return record?.bundle !== undefined || Boolean(record?.compression?.bytes);
  }

  /** The records of the latest batch. */
  get #batchRecords(): number {
    const first = this.#records[this.#head];
    return first !== undefined && this.#isBundle(this.#head) ? recordCount(first) : this.#count;
  }

  /** If the next record is a bundle that is too large, replaces it by its records. */
  #unbundle(): void {
    const [record, call] = [this.#records[this.#head], this.#calls[this.#head]];
    const bytes = this.#bytes[this.#head] ?? 0;
    if (record?.bundle === undefined || call === undefined) return;
    if (bytes <= this.topic.batchMaxBytes) return;
    const each = unbundled({ record, bytes, call });
    this.#records.splice(this.#head, 1, ...each.map((item) => item.record));
    this.#bytes.splice(this.#head, 1, ...each.map((item) => item.bytes));
    this.#calls.splice(this.#head, 1, ...each.map((item) => item.call));
  }

  #leave(count: number): void {
    this.block.recordSuccess();
    this.#mayBeWritten = false;
    this.#failures = 0;
    const end = this.#head + count;
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
