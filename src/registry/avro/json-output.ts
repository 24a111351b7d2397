/**
 * Writes JSON in UTF-8, piece by piece. Several values share a slab of memory for their JSON, so that no memory is
 * allocated for each value.
 *
 * A schema can turn a few bytes into a lot of JSON. The JSON of a value is therefore limited to
 * 64 KiB plus 64 times the value's bytes, and to 4 MiB.
 */

/** Thrown if a value cannot be read. The message is one sentence, and does not quote the value. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

const JSON_MAX_BYTES = 4 * 1024 * 1024;
const JSON_MIN_LIMIT_BYTES = 64 * 1024;
const JSON_PER_BYTE = 64;
const SLAB_BYTES = 64 * 1024;
/** If a slab has less than this left, a new slab is started, so that most values fit without being moved. */
const SLAB_REST_BYTES = 4 * 1024;
/** Strings are checked and copied four bytes at a time. */
export const WORD_BYTES = 4;

const MINUS = 0x2d;
const DIGIT_0 = 0x30;
export const NO_BYTES: Buffer = Buffer.alloc(0);
export const NO_VIEW = viewOf(NO_BYTES);

/** A few ASCII characters that need no escape. */
interface Piece {
  readonly words: Int32Array;
  readonly length: number;
}

export function pieceOf(text: string): Piece {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.alloc(Math.ceil(length / WORD_BYTES) * WORD_BYTES);
  bytes.write(text);
  const words = Int32Array.from({ length: bytes.length / WORD_BYTES }, (_, index) =>
    bytes.readInt32LE(index * WORD_BYTES),
  );
  return { words, length };
}

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

export class JsonOutput {
  protected out: Buffer = NO_BYTES;
  protected outView = NO_VIEW;
  /** Position in `out` at which the value's JSON continues. */
  protected to = 0;
  #from = 0;
  #limit = 0;

  /** @param valueBytes number of bytes of the value. */
  protected beginJson(valueBytes: number): void {
    this.#limit = Math.min(JSON_MAX_BYTES, JSON_MIN_LIMIT_BYTES + JSON_PER_BYTE * valueBytes);
    if (this.out.length - this.to < SLAB_REST_BYTES) this.#newSlab();
    this.#from = this.to;
  }

  protected endJson(): Buffer {
    const json = this.out.subarray(this.#from, this.to);
    if (this.out.length <= SLAB_BYTES) return json;
    this.#newSlab();
    return Buffer.from(json);
  }

  protected dropJson(): void {
    this.to = this.#from;
    if (this.out.length > SLAB_BYTES) this.#newSlab();
  }

  /** Writes ASCII characters that need no escape. */
  ascii(text: string): void {
    this.room(text.length);
    const out = this.out;
    let to = this.to;
    for (let index = 0; index < text.length; index += 1) out[to++] = text.charCodeAt(index);
    this.to = to;
  }

  /** Writes a few bytes unchanged. */
  piece({ words, length }: Piece): void {
    this.room(words.length * WORD_BYTES);
    const view = this.outView;
    let to = this.to;
    for (let index = 0; index < words.length; index += 1) {
      // The last word may extend past the string; the next write overwrites the excess.
      view.setInt32(to, words[index] ?? 0, true);
      to += WORD_BYTES;
    }
    this.to += length;
  }

  /** Writes a number of at most `count` digits, padded with zeros to `count` digits. */
  digits(number: number, count: number): void {
    this.room(count);
    let rest = number;
    for (let at = this.to + count - 1; at >= this.to; at -= 1) {
      const tenth = Math.floor(rest / 10);
      this.out[at] = DIGIT_0 + rest - tenth * 10;
      rest = tenth;
    }
    this.to += count;
  }

  byte(byte: number): void {
    this.room(1);
    this.out[this.to++] = byte;
  }

  number(number: number | bigint): void {
    if (typeof number === "bigint" || number > 0x7fff_ffff || number < -0x7fff_ffff) {
      this.ascii(number.toString());
      return;
    }
    this.room(11);
    let rest = number;
    if (rest < 0) {
      this.out[this.to++] = MINUS;
      rest = -rest;
    }
    let count = 1;
    for (let least = 10; rest >= least; least *= 10) count += 1;
    this.digits(rest, count);
  }

  protected room(bytes: number): void {
    if (bytes > this.out.length - this.to) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const used = this.to - this.#from;
    const needed = used + bytes;
    if (needed > this.#limit) {
      throw new UnreadableError(`the value is more than ${this.#limit} bytes as JSON`);
    }
    const grown = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, Math.min(2 * needed, this.#limit)));
    this.out.copy(grown, 0, this.#from, this.to);
    this.out = grown;
    this.outView = viewOf(grown);
    this.#from = 0;
    this.to = used;
  }

  #newSlab(): void {
    this.out = Buffer.allocUnsafeSlow(SLAB_BYTES);
    this.outView = viewOf(this.out);
    this.#from = 0;
    this.to = 0;
  }
}
