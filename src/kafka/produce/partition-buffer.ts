/**
 * The records that wait for one partition, in the order in which they were sent.
 *
 *   state       means                                             sent with the next request
 *   idle        nothing is in flight                              yes, if it has records
 *   in-flight   a batch is sent, without a response               no
 *   waiting     the last try failed, and the next one has a time  no
 *
 * One batch is in flight at a time: that keeps the order whatever is retried. Its records stay in
 * the queue until it is acknowledged, so that retrying or splitting is a matter of counting.
 *
 * A broker takes a batch for one that it has when producer id and sequences are the same, and says
 * that it is written. So they must never stand for two batches: the buffer keeps both together, and
 * begins at 0 only with an id that it has never had.
 *
 * A bundle is a batch of its own. One that is larger than the topic takes is sent as the records
 * that it stands for. A record that may be compressed is, once the broker has refused it, and then a
 * batch of its own as well.
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
  /** Its records come back when their topic takes nothing. */
  readonly giveBack: boolean;
  readonly resolve: (rejected: readonly RejectedRecord[]) => void;
  readonly reject: (error: Error) => void;
}

/** A record, and the `send` that it is of. */
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

/** Ends the call's wait for a record that its topic does not take. */
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

/** Encoded lengths of a record beside its payload. */
export const RECORD_OVERHEAD_BYTES = 24;
/** Acknowledged records are let go of when there are so many, and half of the queue. */
const COMPACT_AT = 4_096;
const SEQUENCE_MODULUS = 2 ** 31;
/** Far above what a batch of tiny records should hold. */
const BATCH_RECORDS_MAX = 20_000;

/** One item for each record that a bundle stands for. Its call waits for all of them. */
export function unbundled({ record, call }: WaitingRecord): readonly WaitingRecord[] {
  const records = record.bundle?.records() ?? [];
  call.unacknowledged += records.length - 1;
  return records.map((each) => {
    return { record: each, bytes: (each.encoded?.length ?? 0) + RECORD_OVERHEAD_BYTES, call };
  });
}

/** An array that waits for a record grows old, and keeps alive what it has held (0043). */
const EMPTY: never[] = [];

export class PartitionBuffer {
  readonly topic: BufferedTopic;
  readonly partition: number;
  /** Node that takes the records; null when nobody does at the moment. */
  leader: number | null = null;
  state: "idle" | "in-flight" | "waiting" = "idle";
  /** In the line of those that are to be sent. */
  isQueued = false;
  readonly block = new WriteFailures();
  #records: OutgoingRecord[] = EMPTY;
  #bytes: number[] = EMPTY;
  #calls: SendCall[] = EMPTY;
  #head = 0;
  /** `#sequence` counts under this one. */
  #id: ProducerId | null = null;
  #sequence = 0;
  #failures = 0;
  /** Records and bytes of the batch that was cut last. */
  #count = 0;
  #batchBytes = 0;
  /** The batch cut last may have been written: it must be repeated exactly as it was. */
  #mayBeWritten = false;
  /** It was given a bundle at some time, or has compressed a record. */
  #hasBundles = false;

  constructor(topic: BufferedTopic, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get isEmpty(): boolean {
    return this.#head === this.#records.length;
  }

  /** The batch cut last may have been written. */
  get mayBeWritten(): boolean {
    return this.#mayBeWritten;
  }

  /** The producer id that the last batch was sent with. */
  get id(): ProducerId | null {
    return this.#id;
  }

  /** Of the next batch's first record, under `id`. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Tries in a row that failed. */
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

  /** The next batch: at least one record, beyond that as many as fit. Not for an empty buffer. */
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
   * The producer id for the batch that was cut last: the current one, unless it may be written
   * under another already.
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
   * The next batch is smaller; a single record is compressed, or else refused. If it may be written,
   * under a new id.
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
   * Gives back the records of sends that asked for it. Not while a batch is in flight. A batch that
   * may be written is forgotten: the next one needs a new id.
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

  /** The broker accepts nothing more under the buffer's id, which has been dropped. */
  rejectId(): void {
    this.#failures += 1;
    this.#mayBeWritten = false;
    // The next batch may fail before it has a new one.
    this.#id = null;
  }

  /**
   * Gives up all records: the topic was recreated without this partition. If a batch may be written,
   * the caller has dropped the buffer's id.
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

  /** Of the batch that was cut last. */
  get #batchRecords(): number {
    const first = this.#records[this.#head];
    return first !== undefined && this.#isBundle(this.#head) ? recordCount(first) : this.#count;
  }

  /** Puts the records of a bundle that comes next, and is too large, in its place. */
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
