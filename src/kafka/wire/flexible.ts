/**
 * Kafka's flexible encoding: a length is an unsigned varint of the length plus one, and every structure ends with tagged
 * fields.
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

/** Throws a RangeError past the end. */
export class FlexibleReader {
  readonly #payload: Buffer;
  #at = 0;

  constructor(payload: Buffer) {
    this.#payload = payload;
  }

  skip(bytes: number): void {
    this.#at += bytes;
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
    const hex = this.#payload.toString("hex", this.#at, this.#at + 16);
    this.#at += 16;
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

  string(): string | null {
    const length = this.uvarint() - 1;
    if (length < 0) return null;
    this.#at += length;
    return this.#payload.toString("utf8", this.#at - length, this.#at);
  }

  array(readElement: () => void): void {
    const length = this.uvarint() - 1;
    for (let index = 0; index < length; index += 1) readElement();
  }

  taggedFields(): void {
    const fields = this.uvarint();
    for (let field = 0; field < fields; field += 1) {
      this.uvarint();
      this.skip(this.uvarint());
    }
  }
}
