/**
 * A call of a body: its place, and the members that decide whether and how it is taken.
 *
 *   member                                        in `fields`
 *   type, ids, writeKey: text                     itself
 *   another field of a call: text                 some text, or empty text
 *   any of these: number, true, false, null       itself
 *   any of these: object, list                    an empty one
 *   any other member                              absent
 *
 * The domain's parser looks at no more than that. It is a fraction of the work of parsing the call.
 * Of a repeated name the last one counts, as in JSON.parse.
 */

import { beginsWith, endOfValue, scanObject } from "./scan-json.ts";
import { BACKSLASH, QUOTE } from "./scan-scalar.ts";

export interface SentCall {
  readonly start: number;
  /** Behind its last byte. */
  readonly end: number;
  /** Levels of nesting: 1 of a call without lists and objects in it. */
  readonly depth: number;
  /** The value for `parseCall`; see the table. */
  readonly fields: unknown;
}

/** Stand for values whose content does not matter here. */
const SOME_TEXT = "...";
const SOME_OBJECT = {};
const SOME_LIST: readonly unknown[] = [];

interface Field {
  readonly name: string;
  readonly bytes: Buffer;
  /** Whether a text's content matters. */
  readonly isRead: boolean;
}

const READ = ["type", "messageId", "userId", "anonymousId", "writeKey"];
const NOT_READ = [
  ...["groupId", "previousId", "event", "name", "category"],
  ...["properties", "traits", "context", "integrations", "Integrations"],
  ...["sentAt", "receivedAt"],
];

/** By their names' lengths. */
const FIELDS = Map.groupBy(
  [...READ, ...NOT_READ].map(
    (name): Field => ({ name, bytes: Buffer.from(name), isRead: READ.includes(name) }),
  ),
  ({ name }) => name.length,
);

/** The call that begins at `start`; null: it is no JSON. */
export function scanCall(bytes: Buffer, start: number): SentCall | null {
  const nesting = { deepest: 0 };
  if (!beginsWith(bytes, "object", start)) {
    const end = endOfValue(bytes, start, nesting);
    if (end < 0) return null;
    return { start, end, depth: nesting.deepest, fields: valueAt(bytes, start, end, false) };
  }
  const fields: Record<string, unknown> = {};
  const end = scanObject(bytes, start, (nameStart, nameEnd, at) => {
    const valueEnd = endOfValue(bytes, at, nesting);
    const field = valueEnd < 0 ? null : fieldAt(bytes, nameStart, nameEnd);
    if (field !== null) fields[field.name] = valueAt(bytes, at, valueEnd, field.isRead);
    return valueEnd;
  });
  return end < 0 ? null : { start, end, depth: nesting.deepest + 1, fields };
}

/** The name of a member, with its quotes between `start` and `end`. */
export function nameAt(bytes: Buffer, start: number, end: number): string {
  return JSON.parse(textOf(bytes, start, end)) as string;
}

function fieldAt(bytes: Buffer, start: number, end: number): Field | null {
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

/** Whether a text is ASCII without escapes, and so the same in all encodings. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === BACKSLASH || byte > 0x7f) return false;
  }
  return true;
}

function valueAt(bytes: Buffer, start: number, end: number, isRead: boolean): unknown {
  if (beginsWith(bytes, "object", start)) return SOME_OBJECT;
  if (beginsWith(bytes, "list", start)) return SOME_LIST;
  if (bytes[start] !== QUOTE) return JSON.parse(textOf(bytes, start, end));
  if (!isRead) return end - start === 2 ? "" : SOME_TEXT;
  if (isPlain(bytes, start, end)) return bytes.toString("latin1", start + 1, end - 1);
  return JSON.parse(textOf(bytes, start, end));
}

/** The text of a part of the bytes. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("utf8", start, end);
}
