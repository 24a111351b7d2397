/**
 * The records that wait for one partition, in the order in which they were sent.
 *
 * One batch is under way at a time: that keeps the order whatever is retried. Its records stay in
 * the queue until it is acknowledged, so that retrying or splitting is a matter of counting.
 */

import type { OutgoingRecord } from "../domain/record.ts";
import type { RefusedRecord } from "./port.ts";

/** One `send`. */
export interface SendCall {
  /** Records that are not acknowledged yet. */
  unacknowledged: number;
  readonly refused: RefusedRecord[];
  readonly resolve: (refused: readonly RefusedRecord[]) => void;
  readonly reject: (error: Error) => void;
}

const COMPACT_AT = 4_096;
const SEQUENCE_MODULUS = 2 ** 31;
/** Far above what a batch of tiny records should hold. */
const BATCH_RECORDS_MAX = 20_000;

export class ProduceLane {
  readonly topic: string;
  readonly partition: number;
  /** Node that takes the records; null when nobody does at the moment. */
  leader: number | null = null;
  isUnderWay = false;
  /** Tries in a row that failed. */
  failures = 0;
  readonly #records: OutgoingRecord[] = [];
  readonly #bytes: number[] = [];
  readonly #calls: SendCall[] = [];
  #head = 0;
  #sequence = 0;
  /** Of the batch under way, or of one that may have been written and must be repeated as it was. */
  #count = 0;
  #mayBeWritten = false;
  /** Lowered when the broker finds a batch too large. */
  #countMax = BATCH_RECORDS_MAX;

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get isEmpty(): boolean {
    return this.#head === this.#records.length;
  }

  get sequence(): number {
    return this.#sequence;
  }

  add(record: OutgoingRecord, bytes: number, call: SendCall): void {
    this.#records.push(record);
    this.#bytes.push(bytes);
    this.#calls.push(call);
  }

  /** The next batch: at least one record, beyond that at most `bytesMax`. */
  cut(bytesMax: number): { readonly records: readonly OutgoingRecord[]; readonly bytes: number } {
    const end = this.#mayBeWritten ? this.#head + this.#count : this.#records.length;
    const limit = this.#mayBeWritten ? Number.POSITIVE_INFINITY : bytesMax;
    let bytes = 0;
    let at = this.#head;
    for (; at < end && (this.#mayBeWritten || at - this.#head < this.#countMax); at += 1) {
      const next = bytes + (this.#bytes[at] ?? 0);
      if (next > limit && at > this.#head) break;
      bytes = next;
    }
    this.#count = at - this.#head;
    return { records: this.#records.slice(this.#head, at), bytes };
  }

  acknowledged(): void {
    this.#sequence = (this.#sequence + this.#count) % SEQUENCE_MODULUS;
    this.#countMax = Math.min(BATCH_RECORDS_MAX, this.#countMax * 2);
    this.#leave(this.#count);
  }

  /** Splits the batch, or refuses its only record. */
  tooLarge(error: string): void {
    this.#mayBeWritten = false;
    this.failures = 0;
    if (this.#count > 1) {
      this.#countMax = Math.max(1, this.#count >> 1);
      return;
    }
    const record = this.#records[this.#head];
    if (record !== undefined) this.#calls[this.#head]?.refused.push({ record, error });
    this.#leave(1);
  }

  failed(mayBeWritten: boolean): void {
    this.failures += 1;
    this.#mayBeWritten ||= mayBeWritten;
  }

  /** With a new producer id all sequences begin anew, and nothing is known as written. */
  resetSequence(): void {
    this.#sequence = 0;
    this.#mayBeWritten = false;
  }

  #leave(count: number): void {
    this.#mayBeWritten = false;
    this.failures = 0;
    const end = this.#head + count;
    for (let at = this.#head; at < end; at += 1) {
      const call = this.#calls[at];
      if (call === undefined) continue;
      call.unacknowledged -= 1;
      if (call.unacknowledged === 0) call.resolve(call.refused);
    }
    this.#head = end;
    this.#compact();
  }

  /** Lets go of what was acknowledged. */
  #compact(): void {
    if (this.isEmpty) {
      this.#records.length = 0;
      this.#bytes.length = 0;
      this.#calls.length = 0;
    } else if (this.#head >= COMPACT_AT && this.#head * 2 >= this.#records.length) {
      this.#records.splice(0, this.#head);
      this.#bytes.splice(0, this.#head);
      this.#calls.splice(0, this.#head);
    } else {
      return;
    }
    this.#head = 0;
  }
}
