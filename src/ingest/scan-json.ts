/**
 * Finds where JSON values begin and end in bytes, without making anything of them: sizes are
 * measured as they were sent, and what is left out is never parsed.
 *
 * The scanner knows texts and brackets, no more. What it passes over may still be no JSON, so a
 * value that is used is parsed as well. Brackets are counted, not recursed into: depth costs nothing.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A value in the bytes around it. */
export interface Extent {
  readonly start: number;
  /** Behind its last byte. */
  readonly end: number;
  /** Levels of nesting: 0 of a scalar, 1 of an empty list. */
  readonly depth: number;
}

export interface Member {
  /** Decoded. */
  readonly name: string;
  /** Where its name begins. */
  readonly start: number;
  readonly value: Extent;
}

/** Index of the first byte at or after `at` that is no white space. */
export function skipSpace(bytes: Buffer, at: number): number {
  let index = at;
  for (;;) {
    const byte = bytes[index];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return index;
    index += 1;
  }
}

/** The value that begins at `start`; null when it does not end, or there is none. */
export function valueAt(bytes: Buffer, start: number): Extent | null {
  const first = bytes[start];
  if (first === QUOTE) return extent(start, endOfText(bytes, start), 0);
  if (first === OPEN_OBJECT || first === OPEN_LIST) return bracketed(bytes, start);
  const end = endOfScalar(bytes, start);
  return end === start ? null : extent(start, end, 0);
}

function extent(start: number, end: number, depth: number): Extent | null {
  return end < 0 ? null : { start, end, depth };
}

function bracketed(bytes: Buffer, start: number): Extent | null {
  const { length } = bytes;
  let depth = 0;
  let deepest = 0;
  for (let at = start; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = endOfText(bytes, at) - 1;
      if (at < 0) return null;
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      depth -= 1;
      if (depth === 0) return { start, end: at + 1, depth: deepest };
    }
  }
  return null;
}

/** Behind the closing quote of the text that begins at `start`; negative: there is none. */
function endOfText(bytes: Buffer, start: number): number {
  const { length } = bytes;
  for (let at = start + 1; at < length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  return -1;
}

function endOfScalar(bytes: Buffer, start: number): number {
  let at = start;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    // All of JSON's white space is below 0x21, and no scalar has a byte from there.
    if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || byte < 0x21) break;
  }
  return at;
}

/** Whether an object or a list begins at the first byte that is no white space. */
export function beginsWith(bytes: Buffer, kind: "object" | "list", at: number): boolean {
  return bytes[skipSpace(bytes, at)] === (kind === "object" ? OPEN_OBJECT : OPEN_LIST);
}

/**
 * Goes through the members of the object at `start`, in order. Returns the index behind it, or -1
 * where it is malformed.
 *
 * @param find finds a member's value, by default `valueAt`.
 */
export function scanObject(
  bytes: Buffer,
  start: number,
  take: (member: Member) => void,
  find: (at: number, name: string) => Extent | null = (at) => valueAt(bytes, at),
): number {
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_OBJECT) return at + 1;
  for (;;) {
    const nameEnd = bytes[at] === QUOTE ? endOfText(bytes, at) : -1;
    const colon = nameEnd < 0 ? -1 : skipSpace(bytes, nameEnd);
    if (bytes[colon] !== COLON) return -1;
    const name = nameOf(bytes, at, nameEnd);
    const value = find(skipSpace(bytes, colon + 1), name);
    if (value === null) return -1;
    take({ name, start: at, value });
    at = skipSpace(bytes, value.end);
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    if (bytes[at] !== COMMA) return -1;
    at = skipSpace(bytes, at + 1);
  }
}

/** Goes through the entries of the list at `start`, like `scanObject`. */
export function scanList(bytes: Buffer, start: number, take: (entry: Extent) => void): number {
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === CLOSE_LIST) return at + 1;
  for (;;) {
    const value = valueAt(bytes, at);
    if (value === null) return -1;
    take(value);
    at = skipSpace(bytes, value.end);
    if (bytes[at] === CLOSE_LIST) return at + 1;
    if (bytes[at] !== COMMA) return -1;
    at = skipSpace(bytes, at + 1);
  }
}

function nameOf(bytes: Buffer, start: number, end: number): string {
  const text = textOf(bytes, start, end);
  if (!text.includes("\\")) return text.slice(1, -1);
  // A name that cannot be read is none that is looked for.
  const name = parsed(text);
  return typeof name === "string" ? name : "";
}

/** The text of a part of the bytes. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("utf8", start, end);
}

/** The JSON, or undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
