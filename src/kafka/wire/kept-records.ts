/**
 * Collects the records that are kept from a batch that is inflated in pieces. The records stay in the record format.
 */

import type { Omitted } from "../../domain/record.ts";
import { varintBytes, writeVarint } from "./varint.ts";

/** Bytes of the object that a record becomes. */
export const RECORD_OBJECT_BYTES = 64;

export interface RecordsPart {
  /** Consecutive records in the record format. */
  readonly records: Buffer;
  readonly count: number;
  /** By offset delta: the records that were read in part. */
  readonly omitted: ReadonlyMap<number, Omitted>;
  /** The offset delta at which to continue; null at the end of the batch. */
  readonly next: number | null;
}

interface PartOfRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** The headers, each in the record format. */
  readonly headers: readonly Buffer[];
}

/** The records of a part, copied into one buffer that grows. */
export class KeptRecords {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #end = 0;
  #count = 0;
  readonly #omitted = new Map<number, Omitted>();
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

  /** @param headers the encoded headers, one after another. */
  addPart(
    prefix: Buffer,
    { key, value, headers }: PartOfRecord,
    delta: number,
    omitted: Omitted,
  ): void {
    const content = Buffer.concat([
      prefix,
      ...field(key),
      ...field(value),
      varint(headers.length),
      ...headers,
    ]);
    this.add(Buffer.concat([varint(content.length), content]), delta);
    this.#omitted.set(delta, omitted);
  }

  part(next: number | null): RecordsPart {
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

function field(bytes: Buffer | null): readonly Buffer[] {
  return bytes === null ? [varint(-1)] : [varint(bytes.length), bytes];
}

export function varint(value: number): Buffer {
  const bytes = Buffer.alloc(varintBytes(value));
  writeVarint(bytes, 0, value);
  return bytes;
}
