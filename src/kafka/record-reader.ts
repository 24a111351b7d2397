/**
 * Reads the records of a batch one after the other. Key, value and header values are views of the
 * buffer, not copies.
 *
 * They are only looked over at first, and made when they are asked for: most records of a fetch
 * wait for their turn, and each collection of garbage would have to copy what was made of them.
 */

import type { RecordHeader, RecordHeaders } from "../domain/record.ts";

export interface BatchRecord {
  readonly timestampDelta: number;
  readonly offsetDelta: number;
  readonly content: EncodedContent;
}

/**
 * Key, value and headers of a record, as they lie in a reader's buffer. Each is made anew each time
 * that it is asked for.
 */
export class EncodedContent {
  readonly #reader: RecordReader;
  readonly #start: number;
  readonly #headersAt: number;
  readonly #end: number;

  constructor(reader: RecordReader, start: number, headersAt: number, end: number) {
    this.#reader = reader;
    this.#start = start;
    this.#headersAt = headersAt;
    this.#end = end;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  get bytes(): Buffer {
    return this.#reader.bytesFrom(this.#start, this.#end);
  }

  get key(): Buffer | null {
    return this.#reader.keyAt(this.#start);
  }

  get value(): Buffer | null {
    return this.#reader.valueAt(this.#start);
  }

  get headers(): RecordHeaders {
    return this.#reader.headersAt(this.#headersAt);
  }
}

const NO_HEADERS: RecordHeaders = Object.freeze([]);

export class RecordReader {
  readonly #buffer: Buffer;
  #at: number;
  /** Names of the previous record's headers: most records of a batch have the same ones. */
  readonly #names: string[] = [];
  readonly #nameBytes: Buffer[] = [];

  constructor(buffer: Buffer, at: number) {
    this.#buffer = buffer;
    this.#at = at;
  }

  /** Where the next record begins. */
  get position(): number {
    return this.#at;
  }

  /** Throws a RangeError for a record that does not fit its length or the buffer. */
  record(): BatchRecord {
    const length = this.#varint();
    const end = this.#at + length;
    if (length < 0 || end > this.#buffer.length) throw new RangeError(`a length of ${length}`);
    this.#at += 1; // attributes, unused
    const timestampDelta = this.#varlong();
    const offsetDelta = this.#varint();
    const content = this.content(end);
    if (this.#at !== end)
      throw new RangeError(`a length of ${length}, which its fields do not fill`);
    return { timestampDelta, offsetDelta, content };
  }

  /** @param end of the record's bytes, which it must not pass. */
  content(end: number): EncodedContent {
    const start = this.#at;
    this.#skip(end);
    this.#skip(end);
    const headersAt = this.#at;
    this.#skipHeaders(end);
    return new EncodedContent(this, start, headersAt, this.#at);
  }

  bytesFrom(start: number, end: number): Buffer {
    return this.#buffer.subarray(start, end);
  }

  /** Of a content that was looked over before, wherever this reader stands; likewise the others. */
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
    const resumeAt = this.#at;
    this.#at = start;
    const count = this.#varint();
    const headers = count === 0 ? NO_HEADERS : new Array<RecordHeader>(count);
    for (let index = 0; index < count; index += 1) {
      (headers as RecordHeader[])[index] = [this.#name(index), this.#bytes(this.#buffer.length)];
    }
    this.#at = resumeAt;
    return headers;
  }

  #skipHeaders(end: number): void {
    const count = this.#varint();
    // Each header takes two bytes at least.
    if (count < 0 || count * 2 > end - this.#at) throw new RangeError(`${count} headers`);
    for (let index = 0; index < count; index += 1) {
      const nameBytes = this.#varint();
      if (nameBytes < 0 || this.#at + nameBytes > end)
        throw new RangeError(`a header name of ${nameBytes} bytes`);
      this.#at += nameBytes;
      this.#skip(end);
    }
  }

  #name(index: number): string {
    const length = this.#varint();
    const start = this.#at;
    this.#at = start + length;
    const known = this.#names[index];
    if (known !== undefined && this.#isSame(this.#nameBytes[index], start, length)) return known;
    const name = this.#buffer.toString("utf8", start, start + length);
    this.#names[index] = name;
    this.#nameBytes[index] = this.#buffer.subarray(start, start + length);
    return name;
  }

  #isSame(bytes: Buffer | undefined, start: number, length: number): boolean {
    if (bytes?.length !== length) return false;
    const buffer = this.#buffer;
    for (let at = 0; at < length; at += 1) if (bytes[at] !== buffer[start + at]) return false;
    return true;
  }

  #bytes(end: number): Buffer | null {
    const start = this.#skip(end);
    return start === null ? null : this.#buffer.subarray(start, this.#at);
  }

  /** Passes a field. Returns where its bytes begin, or null for Kafka's null. */
  #skip(end: number): number | null {
    const length = this.#varint();
    if (length === -1) return null;
    const start = this.#at;
    if (length < 0 || start + length > end) throw new RangeError(`a field of ${length} bytes`);
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

  /** Exact below 2^53, which timestamps and their differences stay below. */
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
