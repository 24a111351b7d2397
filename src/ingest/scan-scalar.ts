/** Ends of texts, numbers and words in JSON, for `scan-json.ts`; -1: there is none at `start`. */

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

/** @param start of its opening quote. */
export function endOfText(bytes: Buffer, start: number): number {
  const { length } = bytes;
  for (let at = start + 1; at < length; at += 1) {
    const byte = bytes[at] ?? 0;
    // Most are small letters.
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

/** The bytes that may stand behind a backslash, beside u and four hexadecimal digits. */
const ESCAPED: ReadonlySet<unknown> = new Set(Buffer.from('"\\/bfnrt'));

function endOfEscape(bytes: Buffer, start: number): number {
  if (ESCAPED.has(bytes[start + 1])) return start + 2;
  if (bytes[start + 1] !== 0x75) return -1;
  const end = start + 6;
  for (let at = start + 2; at < end; at += 1) if (!isHexDigit(bytes[at] ?? 0)) return -1;
  return end;
}

function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** `-`, digits without a leading zero, fraction, exponent. */
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

/** At least one. */
function endOfDigits(bytes: Buffer, start: number): number {
  let at = start;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  return at === start ? -1 : at;
}
