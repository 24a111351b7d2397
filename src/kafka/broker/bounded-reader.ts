/**
 * Reads the fields of responses, and what other members of a group write. In addition to its base class, throws a
 * RangeError if a length claims more bytes than are left, or a negative number of them. Without this, a few wrong bytes
 * would move the position back, and a list with a wrong count would be read forever. With this, each entry of a list needs
 * at least one byte.
 */

import { Reader } from "@platformatic/kafka";

export class BoundedReader extends Reader {
  static of(bytes: Buffer): BoundedReader {
    return new BoundedReader(Reader.from(bytes).buffer);
  }

  /** The bytes that have not been read. */
  get rest(): Buffer {
    return this.buffer.slice(this.position);
  }

  override skip(bytes: number): this {
    this.#check(bytes);
    return super.skip(bytes);
  }

  override readNullableString(isCompact = true, encoding: BufferEncoding = "utf-8"): string | null {
    this.#checkNullable(isCompact ? this.peekUnsignedVarInt() - 1 : this.peekInt16());
    return super.readNullableString(isCompact, encoding);
  }

  override readNullableBytes(isCompact = true): Buffer | null {
    this.#checkNullable(isCompact ? this.peekUnsignedVarInt() - 1 : this.peekInt32());
    return super.readNullableBytes(isCompact);
  }

  /** A length of -1 means null. */
  #checkNullable(bytes: number): void {
    if (bytes !== -1) this.#check(bytes);
  }

  #check(bytes: number): void {
    if (bytes >= 0 && bytes <= this.remaining) return;
    throw new RangeError(`${bytes} bytes at ${this.position} of ${this.length}`);
  }
}
