/**
 * Copies a value from Avro's bytes to JSON without creating intermediate objects.
 *
 *   limit of a value       against
 *   its bytes              reading past them; bytes that are left over
 *   its JSON               a schema that turns a few bytes into large JSON (`json-output.ts`)
 *   its nesting            a stack overflow: at most 500 nested objects and arrays
 *   the items of a block   arrays of items without bytes: at most as many as bytes remain, or 10,000
 *
 * Strings are copied unchanged. Strings that are not UTF-8 are found when the JSON is decoded.
 */

import {
  JsonOutput,
  NO_BYTES,
  NO_VIEW,
  UnreadableError,
  viewOf,
  WORD_BYTES,
} from "./json-output.ts";

const DEPTH_MAX = 500;
const EMPTY_ITEMS_MAX = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HEX = "0123456789abcdef";

const ENDS_EARLY = "the value ends before its schema does";

/** Can be reused: each value starts with `begin`. */
export class Transcript extends JsonOutput {
  #bytes: Buffer = NO_BYTES;
  #view = NO_VIEW;
  #at = 0;
  #depth = 0;

  begin(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#at = 0;
    this.#depth = 0;
    this.beginJson(bytes.length);
  }

  /** Ends the current value and returns its JSON. Throws `UnreadableError` if bytes remain. */
  end(): Buffer {
    const left = this.#bytes.length - this.#at;
    if (left > 0) {
      throw new UnreadableError(
        `the value has ${left} more ${left === 1 ? "byte" : "bytes"} than its schema describes`,
      );
    }
    this.#letGo();
    return this.endJson();
  }

  /** Call after an error. Releases the value's bytes; its JSON will be overwritten. */
  drop(): void {
    this.#letGo();
    this.dropJson();
  }

  #letGo(): void {
    this.#bytes = NO_BYTES;
    this.#view = NO_VIEW;
  }

  boolean(): boolean {
    const byte = this.#byte();
    if (byte > 1) throw new UnreadableError("a boolean is neither 0 nor 1");
    return byte === 1;
  }

  /** Reads a long; a number that a double cannot represent exactly is returned as a bigint. */
  long(): number | bigint {
    let byte = this.#byte();
    let low = byte & 0x7f;
    for (let shift = 7; byte > 0x7f && shift < 28; shift += 7) {
      byte = this.#byte();
      low |= (byte & 0x7f) << shift;
    }
    return byte > 0x7f ? this.#rest(low) : (low >>> 1) ^ -(low & 1);
  }

  #rest(low: number): number | bigint {
    let byte = 0x80;
    let mid = 0;
    for (let shift = 0; byte > 0x7f && shift < 28; shift += 7) {
      byte = this.#byte();
      mid |= (byte & 0x7f) << shift;
    }
    if (byte <= 0x7f && mid < 0x400_0000) {
      const half = mid * 0x800_0000 + (low >>> 1);
      return (low & 1) === 1 ? -half - 1 : half;
    }
    let high = 0;
    for (let shift = 0; byte > 0x7f && shift < 14; shift += 7) {
      byte = this.#byte();
      high |= (byte & 0x7f) << shift;
    }
    if (byte > 0x7f || high > 0xff) throw new UnreadableError("a number has more than 64 bits");
    const bits = (BigInt(high) << 56n) | (BigInt(mid) << 28n) | BigInt(low);
    const half = bits >> 1n;
    const exact = (bits & 1n) === 1n ? -half - 1n : half;
    const near = Number(exact);
    return Number.isSafeInteger(near) ? near : exact;
  }

  float(): number {
    const at = this.#skip(4);
    return this.#bytes.readFloatLE(at);
  }

  double(): number {
    const at = this.#skip(8);
    return this.#bytes.readDoubleLE(at);
  }

  /** Returns a view of this many bytes. */
  take(length: number): Buffer {
    const at = this.#skip(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** Reads the length of a string or of bytes. */
  length(): number {
    const length = this.long();
    if (typeof length === "bigint" || length < 0) {
      throw new UnreadableError("the length of a string or of bytes is not valid");
    }
    return length;
  }

  /** Reads the number of items in the next block of an array or map; 0 at the end of the array or map. */
  blockItems(): number {
    const count = this.long();
    if (count === 0) return 0;
    const items = count < 0 ? -Number(count) : Number(count);
    // A negative count is followed by the block's size in bytes, which is needed only to skip the block.
    if (count < 0) this.length();
    if (items > this.#bytes.length - this.#at && items > EMPTY_ITEMS_MAX) {
      throw new UnreadableError("an array or map declares more items than the value can contain");
    }
    return items;
  }

  /** Enters an object or array; `leave` ends it. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw new UnreadableError(`the value nests more than ${DEPTH_MAX} levels deep`);
    }
  }

  leave(): void {
    this.#depth -= 1;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new UnreadableError(ENDS_EARLY);
    this.#at += 1;
    return byte;
  }

  #skip(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) throw new UnreadableError(ENDS_EARLY);
    this.#at = at + length;
    return at;
  }

  /** Reads a string and writes it with its quotes. */
  text(): void {
    const length = this.length();
    const at = this.#skip(length);
    this.room(length + 2);
    this.out[this.to++] = QUOTE;
    const end = at + length;
    const copied = this.#plainWords(at, end);
    this.#lastBytes(copied, end);
  }

  /** Copies the start of a string, up to the first word that contains a character which needs an escape. */
  #plainWords(from: number, end: number): number {
    const [view, out] = [this.#view, this.outView];
    const last = end - WORD_BYTES;
    let to = this.to;
    let at = from;
    for (; at <= last; at += WORD_BYTES) {
      const word = view.getInt32(at, true);
      const quotes = word ^ 0x22222222;
      const backslashes = word ^ 0x5c5c5c5c;
      // In (x - n) & ~x, the highest bit of a byte is set if the byte of x, or a byte before it, is below n.
      const marks =
        ((word - 0x20202020) & ~word) |
        ((quotes - 0x01010101) & ~quotes) |
        ((backslashes - 0x01010101) & ~backslashes);
      if ((marks & 0x80808080) !== 0) break;
      out.setInt32(to, word, true);
      to += WORD_BYTES;
    }
    this.to = to;
    return at;
  }

  #lastBytes(from: number, end: number): void {
    const [bytes, out] = [this.#bytes, this.out];
    let to = this.to;
    for (let at = from; at < end; at += 1) {
      const byte = bytes[at] ?? 0;
      if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) {
        this.to = to;
        this.#escaped(at, end);
        return;
      }
      out[to++] = byte;
    }
    out[to++] = QUOTE;
    this.to = to;
  }

  /** Writes the rest of a string, with escapes where needed, and the closing quote. */
  #escaped(from: number, end: number): void {
    for (let index = from; index < end; index += 1) {
      const byte = this.#bytes[index] ?? 0;
      if (byte === QUOTE || byte === BACKSLASH) {
        this.byte(BACKSLASH);
        this.byte(byte);
      } else if (byte < 0x20) this.ascii(`\\u00${HEX[byte >> 4]}${HEX[byte & 15]}`);
      else this.byte(byte);
    }
    this.byte(QUOTE);
  }

  /** Reads this many bytes and writes them as base64. */
  base64(length: number): void {
    const text = this.take(length).toString("base64");
    this.room(text.length + 2);
    this.out[this.to++] = QUOTE;
    this.to += this.out.write(text, this.to, "latin1");
    this.out[this.to++] = QUOTE;
  }
}
