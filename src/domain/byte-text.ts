/**
 * Builds text directly as UTF-8 bytes, for code that writes a lot of text. It creates no garbage: repeated pieces
 * are encoded only once, and numbers are written without being turned into strings first.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_VISIBLE = 0x20;
const LAST_VISIBLE = 0x7e;
const ZERO = 0x30;
const POINT = 0x2e;
/** The maximum number of UTF-8 bytes that one UTF-16 code unit of a string takes. */
const UNIT_MAX_BYTES = 3;
/** From this length on, one call that copies all bytes is faster than a loop that copies each of them. */
const CALL_BYTES = 48;
const NUMBER_MAX_BYTES = 17;

export class ByteText {
  /** The first `length` bytes are the text. When more room is needed, a larger buffer replaces this one. */
  bytes: Buffer;
  /** May be set to a lower value, so that the bytes after it are overwritten. */
  length = 0;

  constructor(bytes = 1_024) {
    this.bytes = Buffer.allocUnsafeSlow(bytes);
  }

  /** Makes room for `more` additional bytes. Call this before writing into `bytes`. */
  reserve(more: number): void {
    const least = this.length + more;
    if (least <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(least, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  add(piece: Uint8Array): void {
    const count = piece.length;
    this.reserve(count);
    const { bytes, length } = this;
    if (count >= CALL_BYTES) bytes.set(piece, length);
    else for (let at = 0; at < count; at += 1) bytes[length + at] = piece[at] ?? 0;
    this.length = length + count;
  }

  addText(text: string): void {
    this.reserve(text.length * UNIT_MAX_BYTES);
    this.length += this.bytes.write(text, this.length);
  }

  /**
   * Writes text that needs no escape in JSON or on a terminal.
   *
   * @returns false, without writing anything, if the text contains a character that needs an escape.
   */
  addPlain(text: string): boolean {
    const count = text.length;
    this.reserve(count);
    const { bytes, length } = this;
    for (let at = 0; at < count; at += 1) {
      const code = text.charCodeAt(at);
      if (code < FIRST_VISIBLE || code > LAST_VISIBLE) return false;
      if (code === QUOTE || code === BACKSLASH) return false;
      bytes[length + at] = code;
    }
    this.length = length + count;
    return true;
  }

  /** @param value an integer from 0 to 2^53. */
  addInteger(value: number): void {
    this.reserve(NUMBER_MAX_BYTES);
    let size = 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) size += 1;
    let rest = value;
    for (let at = this.length + size - 1; at >= this.length; at -= 1) {
      const tenth = Math.floor(rest / 10);
      this.bytes[at] = ZERO + (rest - tenth * 10);
      rest = tenth;
    }
    this.length += size;
  }

  /** Writes a number of 0 or more with one decimal place, or without one if the number is an integer. */
  addTenths(value: number): void {
    const all = Math.round(value * 10);
    const whole = Math.floor(all / 10);
    const rest = all - whole * 10;
    this.addInteger(whole);
    if (rest === 0) return;
    this.reserve(2);
    this.bytes[this.length] = POINT;
    this.bytes[this.length + 1] = ZERO + rest;
    this.length += 2;
  }
}
