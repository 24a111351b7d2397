/**
 * Scans one call in a body: finds the call's end, and reads the members that decide whether and how the call is
 * accepted.
 *
 *   member                                          in `fields`
 *   type, IDs, writeKey: a string                   the string
 *   another field of a call: a string               some string, or the empty string
 *   an ID: a number                                 the number, or its digits as a string (`exact-ids.ts`)
 *   any of these: a number, true, false, null       the value
 *   any of these: an object                         an empty object
 *   any of these: a list                            an empty list if it is empty, otherwise any other list
 *   any of these: a value that has to be repaired   null
 *   any other member                                absent
 *
 * `parseCall` needs no other values, and scanning a call takes a fraction of the time that parsing it would take. If
 * a name is repeated, the last value counts, as in JSON.parse.
 */

import { exactNumber, isIdField } from "../../domain/exact-ids.ts";
import {
  beginsWith,
  endOfBrackets,
  endOfValue,
  firstEntry,
  nameAt,
  scanObject,
} from "../../domain/scan-json.ts";
import { BACKSLASH, QUOTE } from "../../domain/scan-scalar.ts";

export interface SentCall {
  readonly start: number;
  /** The index after the last byte of the call. */
  readonly end: number;
  /** The number of levels of nesting: 1 for a call that contains no lists or objects. */
  readonly depth: number;
  /** The value to pass to `parseCall`, according to the table above. */
  readonly fields: unknown;
  /** If `true`, the call is not valid JSON until `repaired` has been applied to it. */
  readonly isBroken: boolean;
}

/** These constants replace values whose content does not matter here. */
const SOME_TEXT = "...";
const SOME_OBJECT = {};
const EMPTY_LIST: readonly unknown[] = [];
const SOME_LIST: readonly unknown[] = [null];

interface ScannedField {
  readonly name: string;
  readonly bytes: Buffer;
  /** If `true`, the content of a string in this field is needed. */
  readonly isRead: boolean;
}

const READ = ["type", "messageId", "userId", "anonymousId", "previousId", "writeKey", "sentAt"];
const NOT_READ = [
  ...["groupId", "event", "name", "category"],
  ...["properties", "traits", "context", "integrations", "Integrations"],
  "receivedAt",
];

const NO_FIELD: ScannedField = { name: "", bytes: Buffer.alloc(0), isRead: false };

/** The fields, grouped by the length of their names. */
const FIELDS = Map.groupBy(
  [...READ, ...NOT_READ].map(
    (name): ScannedField => ({ name, bytes: Buffer.from(name), isRead: READ.includes(name) }),
  ),
  ({ name }) => name.length,
);

/** Scans the call that starts at `start`; null if it is not JSON. */
export function scanCall(bytes: Buffer, start: number): SentCall | null {
  const nesting = { deepest: 0, repairable: 0 };
  if (!beginsWith(bytes, "object", start)) {
    const end = endOfValue(bytes, start, nesting);
    if (end < 0) return null;
    const isBroken = nesting.repairable > 0;
    const fields = isBroken ? null : valueAt(bytes, start, end, NO_FIELD);
    return { start, end, depth: nesting.deepest, fields, isBroken };
  }
  const fields: Record<string, unknown> = {};
  const end = scanObject(bytes, start, (nameStart, nameEnd, at) => {
    const before = nesting.repairable;
    const valueEnd = endOfValue(bytes, at, nesting);
    const field = valueEnd < 0 ? null : fieldAt(bytes, nameStart, nameEnd);
    if (field === null) return valueEnd;
    const isBroken = nesting.repairable > before;
    fields[field.name] = isBroken ? null : valueAt(bytes, at, valueEnd, field);
    return valueEnd;
  });
  if (end < 0) return null;
  return { start, end, depth: nesting.deepest + 1, fields, isBroken: nesting.repairable > 0 };
}

/** Finds the end of a call that is not JSON, so that only this call is rejected. Null if the end cannot be found. */
export function unreadableCall(bytes: Buffer, start: number): SentCall | null {
  const end = endOfBrackets(bytes, start);
  return end < 0 ? null : { start, end, depth: 1, fields: null, isBroken: true };
}

function fieldAt(bytes: Buffer, start: number, end: number): ScannedField | null {
  for (const field of FIELDS.get(end - start - 2) ?? []) {
    if (isAt(bytes, start + 1, field.bytes)) return field;
  }
  if (isPlain(bytes, start, end)) return null;
  const name = nameAt(bytes, start, end);
  return FIELDS.get(name.length)?.find((each) => each.name === name) ?? null;
}

function isAt(bytes: Buffer, start: number, name: Buffer): boolean {
  for (let at = 0; at < name.length; at += 1) if (bytes[start + at] !== name[at]) return false;
  return true;
}

/** Returns true if a string consists of ASCII characters without escapes, and is therefore the same in all encodings. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH || byte > 0x7f) return false;
  }
  return true;
}

function valueAt(bytes: Buffer, start: number, end: number, field: ScannedField): unknown {
  if (beginsWith(bytes, "object", start)) return SOME_OBJECT;
  if (beginsWith(bytes, "list", start)) {
    return firstEntry(bytes, start) < 0 ? EMPTY_LIST : SOME_LIST;
  }
  if (bytes[start] !== QUOTE) {
    const value: unknown = JSON.parse(bytes.toString("utf8", start, end));
    const isNumberId = typeof value === "number" && isIdField(field.name);
    return isNumberId ? exactNumber(bytes.toString("utf8", start, end)) : value;
  }
  if (!field.isRead) return end - start === 2 ? "" : SOME_TEXT;
  if (isPlain(bytes, start, end)) return bytes.toString("latin1", start + 1, end - 1);
  return JSON.parse(bytes.toString("utf8", start, end));
}
