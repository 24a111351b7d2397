/** The records that are kept of a batch that is inflated in pieces, in the record format. */

import { varintBytes, writeVarint } from "./varint.ts";

/** Of the object that a record becomes. */
export const RECORD_OBJECT_BYTES = 64;

export interface Part {
  /** Records one after the other, as the record format has them. */
  readonly records: Buffer;
  readonly count: number;
  /** By offset delta: the bytes of each value that was left out. */
  readonly omitted: ReadonlyMap<number, number>;
  /** The offset delta to go on with; null when the batch is through. */
  readonly next: number | null;
}

/** The records of a part, copied to one buffer that grows. */
export class KeptRecords {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #end = 0;
  #count = 0;
  readonly #omitted = new Map<number, number>();
  /** Offset delta of the last record. */
  last = -1;

  get weight(): number {
    return this.#end + this.#count * RECORD_OBJECT_BYTES;
  }

  add(record: Buffer, delta: number): void {
    this.#room(record.length);
    this.#bytes.set(record, this.#end);
    this.#end += record.length;
    this.#count += 1;
    this.last = delta;
  }

  addLarge(
    prefix: Buffer,
    key: Buffer | null,
    headers: Buffer,
    delta: number,
    valueBytes: number,
  ): void {
    const fitting = headersThatFit(headers);
    const content = Buffer.concat([
      prefix,
      varint(key === null ? -1 : key.length),
      key ?? Buffer.alloc(0),
      varint(-1),
      varint(fitting.count),
      fitting.bytes,
    ]);
    this.add(Buffer.concat([varint(content.length), content]), delta);
    this.#omitted.set(delta, valueBytes);
  }

  part(next: number | null): Part {
    return {
      records: this.#bytes.subarray(0, this.#end),
      count: this.#count,
      omitted: this.#omitted,
      next,
    };
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + bytes));
    larger.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = larger;
  }
}

/** The whole headers at the beginning of a record's headers, which may be cut off. */
function headersThatFit(section: Buffer): { readonly count: number; readonly bytes: Buffer } {
  let at = 0;
  const varintAt = (): number => {
    let zigzag = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = section[at];
      if (byte === undefined) return -2;
      at += 1;
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    return -2;
  };
  const stated = varintAt();
  const start = at;
  let end = at;
  let count = 0;
  for (; count < stated; count += 1) {
    const nameBytes = varintAt();
    if (nameBytes < 0 || at + nameBytes > section.length) break;
    at += nameBytes;
    const valueBytes = varintAt();
    if (valueBytes < -1 || at + Math.max(0, valueBytes) > section.length) break;
    at += Math.max(0, valueBytes);
    end = at;
  }
  return { count, bytes: section.subarray(start, end) };
}

function varint(value: number): Buffer {
  const bytes = Buffer.alloc(varintBytes(value));
  writeVarint(bytes, 0, value);
  return bytes;
}
