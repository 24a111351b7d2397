/**
 * Tracks which records of one partition have been processed. Records are taken in offset order but may
 * finish in any order.
 *
 *   state                                   position: the offset to commit
 *   some records are in flight              the offset of the first of them
 *   everything taken has been processed     the offset after the last record taken, skipped or passed over
 *
 *   an incoming record                      result
 *   was processed before the restart        skipped
 *   is below what was already taken         skipped
 *   exceeds the in-flight limit             full
 *   could make the commit metadata          full, unless nothing is in flight
 *   too large
 *   otherwise                               taken
 *
 * Only unprocessed offsets are stored, in flat arrays, so a record costs no allocation. An offset between two of them
 * is processed or does not exist, because compaction and transaction markers leave gaps. Processed offsets are removed
 * when the arrays are full, so if one record never finishes, the records that overtake it do not stay in memory.
 *
 * Why the metadata always fits: the `weight` counts 1 character for each unprocessed record, plus the
 * characters of the processed range before it. The encoded ranges are never longer than the weight. Processing a record
 * never increases the weight: the record and the ranges on both sides of it become one range, and the length of that
 * range needs at most one character more than the longer of the two lengths. So it is enough to check the weight when a
 * record is taken.
 */

import assert from "node:assert/strict";
import type { CommittedOffset } from "../port.ts";
import {
  decodeRanges,
  encodeRanges,
  RANGE_CHARS_MAX,
  rangeChars,
  rangesCharsMax,
  topicIdIn,
} from "./finished-ranges.ts";

interface CompletionStart {
  /** The committed offset with its metadata, or the offset at which reading starts with null as its metadata. */
  readonly offset: number;
  readonly metadata: string | null;
  /** Identifies the incarnation of the topic: letters, digits, `-` and `_`, at most 64. */
  readonly topicId: string;
  /** Maximum number of unprocessed records in flight. At least 1. */
  readonly recordsMax: number;
}

type Taken = "taken" | "skipped" | "full";

/** In `#bytes`, marks a record that is processed but still in the arrays. */
const FINISHED = -1;
/** V8 keeps an array of up to 64 bytes in its heap, without a buffer. */
const CAPACITY_FIRST = 8;
/** Most partitions of an installation with many destinations are idle, and need no arrays. */
const NONE = new Float64Array(0);

export class Completion {
  readonly #topicId: string;
  /** Maximum number of unprocessed records in flight. May be changed; those in flight stay. */
  recordsMax: number;
  readonly #weightMax: number;

  /**
   * The records from `#head` up to, but not including, `#tail`, by ascending offset. The first one is unprocessed. `take`
   * adds at the tail, `finish` marks and moves the head, and `#sweep` moves all to the front.
   */
  #offsets = NONE;
  #timestamps = NONE;
  #bytes = NONE;
  #head = 0;
  #tail = 0;
  /**
   * The most characters that the records from head to tail can need in the metadata (see the top of this file). Changes with
   * the head and the tail.
   */
  #weight = 0;
  /** `take` adds a record, `finish` removes it. */
  #inFlight = 0;
  #inFlightBytes = 0;
  /** Every record below this offset is taken, is skipped, or does not exist. Only `passTo` raises it; it never falls. */
  #next: number;

  /**
   * Ranges from the metadata, alternately unprocessed and processed. Reading has not reached the end of the range at
   * `#rangeAt`, which `passTo` moves, with what belongs to it.
   */
  readonly #ranges: readonly number[];
  #rangeAt = 0;
  /** Start of the unprocessed range at `#rangeAt`. */
  #rangeStart: number;
  /** Characters of the ranges from `#rangeAt` on. */
  #rangesWeight = 0;

  constructor(start: CompletionStart) {
    assert(start.recordsMax >= 1);
    this.#topicId = start.topicId;
    this.recordsMax = start.recordsMax;
    // Room is reserved for the processed range after the last unprocessed record, and for a record that exceeds the
    // weight but is taken because nothing is in flight.
    this.#weightMax = rangesCharsMax(start.topicId) - 2 * RANGE_CHARS_MAX - 1;
    this.#next = start.offset;
    this.#ranges = decodeRanges(start.metadata, start.offset, start.topicId);
    this.#rangeStart = start.offset;
    for (const length of this.#ranges) this.#rangesWeight += rangeChars(length);
  }

  /** The offset to commit. Never higher than an unprocessed record. */
  get position(): number {
    return this.#head < this.#tail ? (this.#offsets[this.#head] ?? 0) : this.#next;
  }

  /** The number of unprocessed records. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  /** Timestamp of the first unprocessed record; null if there is none. */
  get oldestUnfinishedMs(): number | null {
    return this.#head < this.#tail ? (this.#timestamps[this.#head] ?? 0) : null;
  }

  /** `true` if a record directly after the last taken one would be taken. */
  get hasRoom(): boolean {
    return this.#roomFor(this.#next);
  }

  /**
   * Offers the next record of the partition; offsets increase from call to call. After `full`, offer the same record
   * again when other records have been processed.
   *
   * A partition that was reset to an earlier offset needs a new `Completion`, because the old one would skip its
   * records.
   */
  take(offset: number, timestampMs: number, bytes: number): Taken {
    if (this.skips(offset)) {
      this.passTo(offset + 1);
      return "skipped";
    }
    if (!this.#roomFor(offset)) return "full";
    if (this.#tail === this.#offsets.length) this.#sweep();
    this.#weight += this.#cost(offset);
    this.#offsets[this.#tail] = offset;
    this.#timestamps[this.#tail] = timestampMs;
    this.#bytes[this.#tail] = bytes;
    this.#tail += 1;
    this.#inFlight += 1;
    this.#inFlightBytes += bytes;
    this.passTo(offset + 1);
    return "taken";
  }

  /** `true` if `take` would skip the record. Offsets must increase from call to call, as with `take`. */
  skips(offset: number): boolean {
    return offset < this.#next || this.#wasFinished(offset);
  }

  /** Call when there is nothing more to take below `offset`, because records are skipped or the log has a gap. */
  passTo(offset: number): void {
    if (offset > this.#next) this.#next = offset;
    while (this.#rangeAt < this.#ranges.length) {
      const unfinished = this.#ranges[this.#rangeAt] ?? 0;
      const finished = this.#ranges[this.#rangeAt + 1] ?? 0;
      if (this.#next < this.#rangeStart + unfinished) return;
      this.#rangeStart += unfinished + finished;
      this.#rangesWeight -= rangeChars(unfinished) + rangeChars(finished);
      this.#rangeAt += 2;
      if (this.#next < this.#rangeStart) this.#next = this.#rangeStart;
    }
  }

  /**
   * Marks the record as processed, and returns the number of bytes that this frees; null if the record is not in
   * flight.
   */
  finish(offset: number): number | null {
    const index = this.#indexOf(offset);
    const bytes = this.#bytes[index] ?? FINISHED;
    if (index < 0 || bytes === FINISHED) return null;
    this.#bytes[index] = FINISHED;
    this.#inFlight -= 1;
    this.#inFlightBytes -= bytes;
    if (index === this.#head) this.#advance();
    return bytes;
  }

  /** The metadata for a commit of `position`. At most 3,000 characters. */
  metadata(): string {
    const ranges: number[] = [];
    let at = this.position;
    // Each unprocessed range is preceded by `finished` processed offsets, which is 0 for the first range.
    const add = (finished: number, unfinished: number) => {
      if (finished > 0) ranges.push(finished);
      if (finished > 0 || ranges.length === 0) ranges.push(unfinished);
      else ranges[ranges.length - 1] = (ranges.at(-1) ?? 0) + unfinished;
    };
    for (let index = this.#head; index < this.#tail; index += 1) {
      if (this.#bytes[index] === FINISHED) continue;
      const offset = this.#offsets[index] ?? 0;
      add(offset - at, 1);
      at = offset + 1;
    }
    for (
      let range = this.#rangeAt, start = this.#rangeStart;
      range < this.#ranges.length;
      range += 2
    ) {
      const end = start + (this.#ranges[range] ?? 0);
      // The taken part of the first range is already in the arrays.
      const from = Math.max(start, this.#next);
      add(from - at, end - from);
      at = end;
      start = end + (this.#ranges[range + 1] ?? 0);
      if (range + 2 === this.#ranges.length) ranges.push(start - at);
    }
    if (this.#rangeAt === this.#ranges.length && this.#next > at) ranges.push(this.#next - at);
    return encodeRanges(this.position, this.#topicId, ranges);
  }

  #wasFinished(offset: number): boolean {
    if (this.#rangeAt === this.#ranges.length) return false;
    this.passTo(offset);
    return offset < this.#next;
  }

  #roomFor(offset: number): boolean {
    if (this.#inFlight === 0) return true;
    if (this.#inFlight >= this.recordsMax) return false;
    if (this.#fits(offset)) return true;
    // Processed records that are still in the arrays also count toward the weight.
    if (this.#tail - this.#head === this.#inFlight) return false;
    this.#sweep();
    return this.#fits(offset);
  }

  #fits(offset: number): boolean {
    return this.#weight + this.#cost(offset) + this.#rangesWeight <= this.#weightMax;
  }

  /** Characters for a record at `offset`, and for the range between this record and the one taken before it. */
  #cost(offset: number): number {
    if (this.#head === this.#tail) return 1;
    const gap = offset - (this.#offsets[this.#tail - 1] ?? 0) - 1;
    return gap === 0 ? 1 : 1 + rangeChars(gap);
  }

  #indexOf(offset: number): number {
    let low = this.#head;
    let high = this.#tail - 1;
    if (this.#offsets[low] === offset && low <= high) return low;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.#offsets[middle] ?? 0;
      if (found === offset) return middle;
      if (found < offset) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  /** Moves the head to the first unprocessed record. */
  #advance(): void {
    while (this.#head < this.#tail && this.#bytes[this.#head] === FINISHED) {
      const gap = (this.#offsets[this.#head + 1] ?? 0) - (this.#offsets[this.#head] ?? 0) - 1;
      this.#head += 1;
      this.#weight -= this.#head === this.#tail ? 1 : 1 + rangeChars(gap);
    }
    if (this.#head < this.#tail) return;
    assert.equal(this.#inFlight, 0);
    this.#head = 0;
    this.#tail = 0;
  }

  /** Moves the unprocessed records to the front; uses larger arrays if these records fill half of the current ones. */
  #sweep(): void {
    const from = { offsets: this.#offsets, timestamps: this.#timestamps, bytes: this.#bytes };
    const end = this.#tail;
    if (this.#inFlight * 2 >= from.offsets.length) {
      const capacity = Math.max(CAPACITY_FIRST, from.offsets.length * 2);
      this.#offsets = new Float64Array(capacity);
      this.#timestamps = new Float64Array(capacity);
      this.#bytes = new Float64Array(capacity);
    }
    let at = this.#head;
    this.#head = 0;
    this.#tail = 0;
    this.#weight = 0;
    for (; at < end; at += 1) {
      const bytes = from.bytes[at] ?? FINISHED;
      if (bytes === FINISHED) continue;
      const offset = from.offsets[at] ?? 0;
      this.#weight += this.#cost(offset);
      this.#offsets[this.#tail] = offset;
      this.#timestamps[this.#tail] = from.timestamps[at] ?? 0;
      this.#bytes[this.#tail] = bytes;
      this.#tail += 1;
    }
    assert.equal(this.#tail, this.#inFlight);
  }
}

/**
 * The commit with which a group skips everything below an offset. Records above that offset which are processed
 * according to the metadata stay processed.
 */
export function passedCommit(committed: CommittedOffset, behind: number): CommittedOffset {
  const { partition, offset, metadata } = committed;
  // The metadata is valid only for the topic whose ID it contains, so the ID is kept.
  const topicId = topicIdIn(metadata, offset) ?? "";
  const completion = new Completion({ offset, metadata, topicId, recordsMax: 1 });
  completion.passTo(behind);
  return { partition, offset: completion.position, metadata: completion.metadata() };
}
