/**
 * Goes through JSON in bytes without making anything of it: sizes are measured as they were sent,
 * and most of a call only has to be passed on.
 *
 * As strict as JSON.parse, unless a caller counts what can be repaired: a property test holds the two
 * together. It is less than half of its
 * work, as no text, number or object is made. The bytes must be UTF-8; the caller checks that.
 * Nesting is counted, not recursed into, so depth costs no stack.
 *
 * Ends are indexes behind the last byte; -1: it is no JSON, or it is cut short.
 */

import { endOfQuotes, endOfRepairable, endOfScalar, endOfText, QUOTE } from "./scan-scalar.ts";

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Levels of nesting that were met: 0 of scalars, 1 of an empty list. */
export interface Nesting {
  deepest: number;
  /**
   * How many values were met that are not JSON, and that `repaired` can turn into JSON. Absent: there
   * may be none.
   */
  repairable?: number;
}

/** Index of the first byte at or after `at` that is no white space. */
export function skipSpace(bytes: Buffer, at: number): number {
  const { length } = bytes;
  let index = at;
  // Reading behind the end, which every whole body would do, makes V8 compile all of this slower.
  while (index < length) {
    const byte = bytes[index];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    index += 1;
  }
  return index;
}

/** Whether an object or a list begins at `at`. */
export function beginsWith(bytes: Buffer, kind: "object" | "list", at: number): boolean {
  return bytes[at] === (kind === "object" ? OPEN_OBJECT : OPEN_LIST);
}

/**
 * End of the object at `start`, member by member.
 *
 * @param member the end of the value at `at`; the name stands between `nameStart` and `nameEnd`, with
 *   its quotes.
 */
export function scanObject(
  bytes: Buffer,
  start: number,
  member: (nameStart: number, nameEnd: number, at: number) => number,
): number {
  const found = { nameEnd: 0, at: 0 };
  let at = firstMember(bytes, start, found);
  while (at >= 0) at = nextMember(bytes, member(at, found.nameEnd, found.at), found);
  return endOf(at);
}

/** Where a member's name ends, with its quotes, and where its value begins. */
export interface FoundMember {
  nameEnd: number;
  at: number;
}

/** It is no JSON, or it is cut short. Else what is below is the end of the object or list. */
const BROKEN = -1;

/** The end that `nextMember` and its like tell of by a negative number; -1: there is none. */
export function endOf(at: number): number {
  return at === BROKEN ? -1 : -at - 1;
}

function ended(at: number): number {
  return -(at + 1) - 1;
}

/** Where the first member's name of the object at `start` begins; negative: see `endOf`. */
export function firstMember(bytes: Buffer, start: number, found: FoundMember): number {
  const at = skipSpace(bytes, start + 1);
  return bytes[at] === CLOSE_OBJECT ? ended(at) : memberAt(bytes, at, found);
}

/** Where the name of the next member begins, behind a value that ends at `end`. */
export function nextMember(bytes: Buffer, end: number, found: FoundMember): number {
  if (end < 0) return BROKEN;
  const at = skipSpace(bytes, end);
  if (bytes[at] === CLOSE_OBJECT) return ended(at);
  return bytes[at] === COMMA ? memberAt(bytes, skipSpace(bytes, at + 1), found) : BROKEN;
}

function memberAt(bytes: Buffer, at: number, found: FoundMember): number {
  found.nameEnd = endOfName(bytes, at);
  found.at = startOfValue(bytes, found.nameEnd);
  return found.at < 0 ? BROKEN : at;
}

/** Where the first entry of the list at `start` begins; negative: see `endOf`. */
export function firstEntry(bytes: Buffer, start: number): number {
  const at = skipSpace(bytes, start + 1);
  return bytes[at] === CLOSE_LIST ? ended(at) : at;
}

/** Where the next entry begins, behind one that ends at `end`. */
export function nextEntry(bytes: Buffer, end: number): number {
  if (end < 0) return BROKEN;
  const at = skipSpace(bytes, end);
  if (bytes[at] === CLOSE_LIST) return ended(at);
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : BROKEN;
}

/**
 * Brackets that must close, innermost last. Used anew for each value, and enough for nearly all.
 */
const BRACKETS = new Uint8Array(1_024);

/** End of the value at `start`, all that is in it included. */
export function endOfValue(bytes: Buffer, start: number, nesting: Nesting): number {
  let brackets = BRACKETS;
  let depth = 0;
  let isInObject = false;
  let at = start;
  for (;;) {
    if (isInObject) at = startOfValue(bytes, endOfName(bytes, at));
    if (at < 0) return -1;
    const first = bytes[at];
    if (first === OPEN_OBJECT || first === OPEN_LIST) {
      if (depth === brackets.length) brackets = doubled(brackets);
      const close = first + 2;
      brackets[depth] = close;
      depth += 1;
      if (depth > nesting.deepest) nesting.deepest = depth;
      isInObject = first === OPEN_OBJECT;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== close) continue;
    } else {
      const end = endOfScalar(bytes, at);
      at = end < 0 ? endOfBroken(bytes, at, nesting) : end;
      if (at < 0 || depth === 0) return at;
      at = skipSpace(bytes, at);
    }
    while (bytes[at] === brackets[depth - 1]) {
      depth -= 1;
      if (depth === 0) return at + 1;
      at = skipSpace(bytes, at + 1);
    }
    if (bytes[at] !== COMMA) return -1;
    at = skipSpace(bytes, at + 1);
    isInObject = brackets[depth - 1] === CLOSE_OBJECT;
  }
}

/**
 * End of an object or a list that is no JSON, by its brackets and its texts alone; -1: they do not
 * fit together, so that nobody can say where it ends.
 */
export function endOfBrackets(bytes: Buffer, start: number): number {
  let brackets = BRACKETS;
  let depth = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (depth === brackets.length) brackets = doubled(brackets);
      brackets[depth] = byte + 2;
      depth += 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      depth -= 1;
      if (brackets[depth] !== byte) return -1;
      if (depth === 0) return at + 1;
    } else if (byte === QUOTE) {
      at = endOfQuotes(bytes, at) - 1;
    }
    if (at < start || depth === 0) return -1;
  }
  return -1;
}

function endOfBroken(bytes: Buffer, start: number, nesting: Nesting): number {
  if (nesting.repairable === undefined) return -1;
  nesting.repairable += 1;
  return endOfRepairable(bytes, start);
}

function doubled(brackets: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(2 * brackets.length);
  more.set(brackets);
  return more;
}

function endOfName(bytes: Buffer, at: number): number {
  return bytes[at] === QUOTE ? endOfText(bytes, at) : -1;
}

/** Where a member's value begins, if only its colon is there. */
function startOfValue(bytes: Buffer, nameEnd: number): number {
  if (nameEnd < 0) return -1;
  const colon = skipSpace(bytes, nameEnd);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : -1;
}
