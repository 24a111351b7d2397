/**
 * Finds the ends of strings, numbers and literals in JSON, for `scan-json.ts`. The functions return -1 if no such
 * value starts at `start`.
 */

import { escaped } from "./escape-control.ts";

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;

export function endOfScalar(bytes: Buffer, start: number): number {
  switch (bytes[start] ?? 0) {
    case QUOTE:
      return endOfText(bytes, start);
    case 0x74:
      return endOfWord(bytes, start, TRUE);
    case 0x66:
      return endOfWord(bytes, start, FALSE);
    case 0x6e:
      return endOfWord(bytes, start, NULL);
    default:
      return endOfNumber(bytes, start);
  }
}

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

function endOfWord(bytes: Buffer, start: number, word: Buffer): number {
  for (let at = 1; at < word.length; at += 1) if (bytes[start + at] !== word[at]) return -1;
  return start + word.length;
}

/**
 * The spellings in Python, Ruby, C, and languages that use the same ones. If one spelling starts with another, it
 * comes first.
 */
const NOT_NUMBERS = ["NaN", "nan", "NAN", "Infinity", "infinity", "inf", "INF"].map((word) =>
  Buffer.from(word),
);
const PLUS = 0x2b;
const MINUS = 0x2d;

/** The end of a value that is not JSON, but that `repaired` turns into JSON. */
export function endOfRepairable(bytes: Buffer, start: number): number {
  if (bytes[start] === QUOTE) return endOfRawText(bytes, start);
  const isSigned = bytes[start] === MINUS || bytes[start] === PLUS;
  const at = isSigned ? start + 1 : start;
  for (const word of NOT_NUMBERS) {
    if (bytes[at] !== word[0]) continue;
    const end = endOfWord(bytes, at, word);
    if (end > 0) return end;
  }
  return -1;
}

/**
 * The end of a string that may contain anything, even after a backslash. @param start the index of the string's
 * first quote.
 */
export function endOfQuotes(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] === BACKSLASH) at += 1;
  }
  return -1;
}

/** The end of a string that contains unescaped control characters. */
function endOfRawText(bytes: Buffer, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) return at + 1;
    if (bytes[at] !== BACKSLASH) continue;
    at = endOfEscape(bytes, at) - 1;
    if (at < 0) return -1;
  }
  return -1;
}

/**
 * Repairs text that would be JSON if it did not contain values that `endOfRepairable` accepts. Words such as NaN become
 * null, unless they are part of a string, and control characters become escapes.
 */
export function repaired(text: string): string {
  return text.replace(TEXT_OR_WORD, (found) =>
    found.startsWith('"') ? found.replace(CONTROL, escaped) : "null",
  );
}

const TEXT_OR_WORD = /"(?:[^"\\]|\\.)*"|[-+]?(?:[Ii]nfinity|inf|INF|NaN|nan|NAN)/g;
/** Not all of these characters need an escape, but an escape does not change what they mean. */
const CONTROL = /\p{Cc}/gu;

/** @param start the index of the opening quote. */
export function endOfText(bytes: Buffer, start: number): number {
  const { length } = bytes;
  for (let at = start + 1; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    // Most bytes are lowercase letters.
    if (byte > BACKSLASH) continue;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) return -1;
    if (byte === BACKSLASH) {
      at = endOfEscape(bytes, at) - 1;
      if (at < 0) return -1;
    }
  }
  return -1;
}

/** The bytes that may follow a backslash, except u, which four hexadecimal digits must follow. */
const ESCAPED: ReadonlySet<unknown> = new Set(Buffer.from('"\\/bfnrt'));

function endOfEscape(bytes: Buffer, start: number): number {
  if (ESCAPED.has(bytes[start + 1])) return start + 2;
  if (bytes[start + 1] !== 0x75) return -1;
  const end = start + 6;
  for (let at = start + 2; at < end; at += 1) if (!isHexDigit(bytes[at] ?? 0)) return -1;
  return end;
}

function isHexDigit(byte: number): boolean {
  const lowercase = byte | 0x20;
  return isDigit(byte) || (lowercase >= 0x61 && lowercase <= 0x66);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/**
 * A number consists of an optional `-`, digits without a leading zero, an optional fraction and an optional
 * exponent.
 */
function endOfNumber(bytes: Buffer, start: number): number {
  const first = bytes[start] === 0x2d ? start + 1 : start;
  let at = bytes[first] === 0x30 ? first + 1 : endOfDigits(bytes, first);
  if (at > 0 && bytes[at] === 0x2e) at = endOfDigits(bytes, at + 1);
  if (at > 0 && ((bytes[at] ?? 0) | 0x20) === 0x65) {
    const isSigned = bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d;
    at = endOfDigits(bytes, at + (isSigned ? 2 : 1));
  }
  return at;
}

/** There must be at least one digit. */
function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  return at === start ? -1 : at;
}
