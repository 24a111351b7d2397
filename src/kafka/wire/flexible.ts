/**
 * Reads responses, and writes Kafka's flexible encoding: a length is an unsigned varint of the length plus one, and every
 * structure ends with tagged fields.
 */

export function uvarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

export function compact(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uvarint(bytes.length + 1), bytes]);
}

/** Throws a RangeError past the end, whatever a length claims. Each entry of a list must read at least one byte. */
export class MessageReader {
  readonly #payload: Buffer;
  #at: number;

  constructor(payload: Buffer, at = 0) {
    this.#payload = payload;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  /** @returns the position before the skipped bytes. */
  skip(bytes: number): number {
    if (bytes < 0 || this.#at + bytes > this.#payload.length)
      throw new RangeError(`${bytes} bytes at ${this.#at} of ${this.#payload.length}`);
    this.#at += bytes;
    return this.#at - bytes;
  }

  int16(): number {
    this.#at += 2;
    return this.#payload.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#payload.readInt32BE(this.#at - 4);
  }

  int64(): number {
    this.#at += 8;
    return Number(this.#payload.readBigInt64BE(this.#at - 8));
  }

  uuid(): string {
    const hex = this.#payload.toString("hex", this.skip(16), this.#at);
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }

  uvarint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#payload.readUInt8(this.#at);
      this.#at += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }

  string(length = this.uvarint() - 1): string | null {
    return length < 0 ? null : this.#payload.toString("utf8", this.skip(length), this.#at);
  }

  /** A string of a version that is not flexible. */
  plainString(): string | null {
    return this.string(this.int16());
  }

  /** A list of a version that is not flexible. */
  plainArray<Item>(readItem: () => Item): Item[] {
    return this.array(readItem, this.int32());
  }

  array<Item>(readItem: () => Item, length = this.uvarint() - 1): Item[] {
    const items: Item[] = [];
    while (items.length < length) items.push(readItem());
    return items;
  }

  taggedFields(): void {
    const fields = this.uvarint();
    for (let field = 0; field < fields; field += 1) {
      this.uvarint();
      this.skip(this.uvarint());
    }
  }
}

/** More than any topic has. */
const PARTITIONS_MAX = 1_000_000;

/** @throws RangeError if no topic has such a partition. A list that has it would be as long as its number. */
export function possiblePartition(partition: number): number {
  if (partition >= 0 && partition < PARTITIONS_MAX) return partition;
  throw new RangeError(`there is no partition ${partition}`);
}
