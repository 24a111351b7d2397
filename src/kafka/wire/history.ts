/**
 * The output of a decompressor, in pieces. It keeps as much of it as later parts may repeat.
 *
 * Both LZ4 and Snappy say "repeat `length` bytes from `distance` bytes ago".
 */

const PIECE_BYTES = 256 * 1024;

export class History {
  readonly #bytes: Buffer;
  readonly #keepBytes: number;
  #end = 0;
  /** The first byte that was not given out. */
  #given = 0;

  /** @param keepBytes the largest distance. */
  constructor(keepBytes: number) {
    this.#keepBytes = keepBytes;
    this.#bytes = Buffer.allocUnsafeSlow(keepBytes + 2 * PIECE_BYTES);
  }

  get isFull(): boolean {
    return this.#end - this.#given >= PIECE_BYTES;
  }

  /** A copy of the output since the last call. */
  take(): Buffer {
    const piece = Buffer.from(this.#bytes.subarray(this.#given, this.#end));
    this.#given = this.#end;
    const from = Math.max(0, this.#end - this.#keepBytes);
    this.#bytes.copyWithin(0, from, this.#end);
    this.#end -= from;
    this.#given = this.#end;
    return piece;
  }

  /** Writes at most what fits now. Returns how many bytes of the source it took. */
  literal(source: Buffer, start: number, length: number): number {
    const bytes = Math.min(length, this.#room);
    this.#bytes.set(source.subarray(start, start + bytes), this.#end);
    this.#end += bytes;
    return bytes;
  }

  /** Repeats at most what fits now. Returns how many bytes it wrote. */
  repeat(distance: number, length: number): number {
    if (distance <= 0 || distance > this.#end) throw new Error(`a distance of ${distance}`);
    const bytes = Math.min(length, this.#room);
    const end = this.#end + bytes;
    if (distance === 1) {
      this.#bytes.fill(this.#bytes[this.#end - 1] ?? 0, this.#end, end);
    } else if (distance >= bytes) {
      this.#bytes.copyWithin(this.#end, this.#end - distance, end - distance);
    } else {
      // The bytes that it repeats are partly those that it writes.
      for (let at = this.#end; at < end; at += 1) this.#bytes[at] = this.#bytes[at - distance] ?? 0;
    }
    this.#end = end;
    return bytes;
  }

  get #room(): number {
    return Math.min(PIECE_BYTES, this.#bytes.length - this.#end);
  }
}
