/**
 * Reads the records of a batch one at a time. Key, value and header values are views of the buffer, not
 * copies.
 *
 * At first a record is only checked. Its fields are created on demand: most records of a fetch wait for their
 * turn, and meanwhile each garbage collection would copy their fields.
 *
 * The content of a record is its key, its value and its headers, in the record format.
 */

import type { RecordHeader, RecordHeaders, VisitHeader } from "../../domain/record.ts";

export class RecordReader {
  readonly #buffer: Buffer;
  readonly #view: DataView;
  #at: number;
  /** Start and end of the last record's content. */
  start = 0;
  end = 0;
  offsetDelta = 0;
  timestampDelta = 0;

  constructor(buffer: Buffer, at: number) {
    this.#buffer = buffer;
    this.#view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
    this.#at = at;
  }

  /**
   * Skips a record, and describes it in fields of the reader, because creating an object for each of thousands of
   * records would cost too much. Throws a RangeError if the record does not match its length or the buffer.
   */
  next(): void {
    const length = this.#varint();
    const end = this.#at + length;
    if (length < 0 || end > this.#buffer.length) throw new RangeError(`a length of ${length}`);
    this.#at += 1; // attributes, unused
    this.timestampDelta = this.#varlong();
    this.offsetDelta = this.#varint();
    this.start = this.#at;
    this.end = end;
    this.#skip(end);
    this.#skip(end);
    this.#skipHeaders(end);
    if (this.#at !== end)
      throw new RangeError(`a length of ${length}, which its fields do not fill`);
  }

  bytesFrom(start: number, end: number): Buffer {
    return this.#buffer.subarray(start, end);
  }

  /** The key in a record's content. The content must have been checked before. Does not move the reader. */
  keyAt(start: number): Buffer | null {
    const resumeAt = this.#at;
    this.#at = start;
    const key = this.#bytes(this.#buffer.length);
    this.#at = resumeAt;
    return key;
  }

  valueAt(start: number): Buffer | null {
    const resumeAt = this.#at;
    this.#at = start;
    this.#skip(this.#buffer.length);
    const value = this.#bytes(this.#buffer.length);
    this.#at = resumeAt;
    return value;
  }

  headersAt(start: number): RecordHeaders {
    const headers: RecordHeader[] = [];
    this.eachHeaderAt(start, (name, bytes, valueStart, valueEnd) => {
      headers.push([name, valueStart < 0 ? null : bytes.subarray(valueStart, valueEnd)]);
    });
    return headers;
  }

  /** Visits the headers. This is much cheaper than returning them, because no buffer is created for each value. */
  eachHeaderAt(start: number, visit: VisitHeader): void {
    const resumeAt = this.#at;
    this.#at = start;
    this.#skip(this.#buffer.length);
    this.#skip(this.#buffer.length);
    const count = this.#varint();
    for (let index = 0; index < count; index += 1) {
      const name = this.#name();
      const valueStart = this.#skip(this.#buffer.length);
      visit(name, this.#buffer, valueStart ?? -1, this.#at);
    }
    this.#at = resumeAt;
  }

  #skipHeaders(end: number): void {
    const count = this.#varint();
    // Each header has at least two bytes.
    if (count < 0 || count * 2 > end - this.#at) throw new RangeError(`${count} headers`);
    for (let index = 0; index < count; index += 1) {
      const nameBytes = this.#varint();
      if (nameBytes < 0 || this.#at + nameBytes > end)
        throw new RangeError(`a header name of ${nameBytes} bytes`);
      this.#at += nameBytes;
      this.#skip(end);
    }
  }

  #name(): string {
    const length = this.#varint();
    const start = this.#at;
    this.#at = start + length;
    return headerName(this.#view, start, length);
  }

  #bytes(end: number): Buffer | null {
    const start = this.#skip(end);
    return start === null ? null : this.#buffer.subarray(start, this.#at);
  }

  /** Skips a field. Returns the position of its bytes, or null for Kafka's null, which is any negative length. */
  #skip(end: number): number | null {
    const length = this.#varint();
    if (length < 0) return null;
    const start = this.#at;
    if (start + length > end) throw new RangeError(`a field of ${length} bytes`);
    this.#at = start + length;
    return start;
  }

  #varint(): number {
    const buffer = this.#buffer;
    let byte = buffer[this.#at++] ?? 0;
    let zigzag = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      if (shift > 28) throw new RangeError("a number of more than five bytes");
      byte = buffer[this.#at++] ?? 0;
      zigzag |= (byte & 0x7f) << shift;
    }
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }

  /** Reads a varlong; exact below 2^53, which timestamps and their differences do not reach. */
  #varlong(): number {
    const buffer = this.#buffer;
    const start = this.#at;
    let byte = buffer[this.#at++] ?? 0;
    let zigzag = byte & 0x7f;
    for (let shift = 7; byte > 0x7f; shift += 7) {
      if (shift > 21) return this.#longVarlong(start);
      byte = buffer[this.#at++] ?? 0;
      zigzag |= (byte & 0x7f) << shift;
    }
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }

  #longVarlong(start: number): number {
    let zigzag = 0n;
    let at = start;
    for (let shift = 0n; ; shift += 7n) {
      if (shift > 63n) throw new RangeError("a number of more than ten bytes");
      const byte = this.#buffer[at++] ?? 0;
      zigzag |= BigInt(byte & 0x7f) << shift;
      if (byte <= 0x7f) break;
    }
    this.#at = at;
    return Number((zigzag >> 1n) ^ -(zigzag & 1n));
  }
}

const WORD = 4;
const KEPT_MAX_BYTES = 64;
/** Two to the power of 8. */
const SLOTS = 256;
const SLOT_SHIFT = 24;

interface KnownName {
  readonly text: string;
  readonly length: number;
  /**
   * The name in words of four bytes, from the first byte on. `lastWord` contains the last four bytes, and may overlap
   * the other words.
   */
  readonly words: Int32Array;
  readonly lastWord: number;
}

const known = new Array<KnownName | null>(SLOTS).fill(null);

/**
 * Returns the header name that these bytes contain in UTF-8. A process reads the same few names in every
 * record, so the strings are cached, and bytes are compared four at a time. Without the cache, decoding the names would
 * be most of the cost of reading a record's headers.
 *
 *   the name                                    its string
 *   equals the cached name of its slot          is the cached one
 *   differs from it, and has 4 to 64 bytes      is created, and cached in its slot
 *   is shorter or longer                        is created
 */
export function headerName(bytes: DataView, start: number, length: number): string {
  if (length < WORD || length > KEPT_MAX_BYTES) return text(bytes, start, length);
  const lastWord = bytes.getInt32(start + length - WORD);
  const slot = slotOf(length, lastWord);
  const last = known[slot] ?? null;
  if (last !== null && last.length === length && last.lastWord === lastWord) {
    if (hasWords(bytes, start, last.words)) return last.text;
  }
  const words = new Int32Array((length - 1) >> 2);
  for (let at = 0; at < words.length; at += 1) words[at] = bytes.getInt32(start + at * WORD);
  const made = text(bytes, start, length);
  known[slot] = { text: made, length, words, lastWord };
  return made;
}

/**
 * The slot for a name of 4 to 64 bytes. All of Switchyard's own header names have different slots, which a
 * test checks.
 */
export function headerSlot(name: string): number {
  const bytes = Buffer.from(name);
  return slotOf(bytes.length, bytes.readInt32BE(bytes.length - WORD));
}

function slotOf(length: number, lastWord: number): number {
  return Math.imul(lastWord + length * 37, 0x85ebca6b) >>> SLOT_SHIFT;
}

function hasWords(bytes: DataView, start: number, words: Int32Array): boolean {
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] !== bytes.getInt32(start + at * WORD)) return false;
  }
  return true;
}

function text({ buffer, byteOffset }: DataView, start: number, length: number): string {
  return Buffer.from(buffer, byteOffset + start, length).toString("utf8");
}
