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
 * a name is repeated, the last value counts, as in JSON.parse: only the last one is read, however often a call repeats
 * a name. A large call is scanned in slices.
 */

import { exactNumber, isIdField } from "../../domain/exact-ids.ts";
import {
  beginsWith,
  endOf,
  endOfBrackets,
  endOfValue,
  firstEntry,
  firstMember,
  isPlain,
  KnownNames,
  nextMember,
} from "../../domain/scan-json.ts";
import { endOfScalar, QUOTE } from "../../domain/scan-scalar.ts";

/** Number of bytes that are scanned in one slice. A slice takes less than a millisecond, unless one value is longer. */
export const TURN_BYTES = 65_536;

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

/** Fields whose strings are needed. */
const READ = ["type", "messageId", "userId", "anonymousId", "previousId", "writeKey", "sentAt"];
const FIELDS = new KnownNames([
  ...READ,
  ...["groupId", "event", "name", "category"],
  ...["properties", "traits", "context", "integrations", "Integrations"],
  "receivedAt",
]);

/** The scan of one call. A generator would take longer to create than most calls take to scan. */
export class CallScan {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #isObject: boolean;
  readonly #nesting = { deepest: 0, repairable: 0 };
  readonly #member = { nameEnd: 0, at: 0 };
  readonly #fields: string[] = [];
  /** The index at which the last value of each of the fields starts; -1 if that value has to be repaired. */
  readonly #values: number[] = [];
  /** The index at which the next member starts. If it is negative, `endOf` decodes it. */
  #at: number;

  constructor(bytes: Buffer, start: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#isObject = beginsWith(bytes, "object", start);
    this.#at = this.#isObject ? firstMember(bytes, start, this.#member) : -1;
  }

  /** Scans one slice. Returns `true` if the call has more slices. */
  next(): boolean {
    const bytes = this.#bytes;
    const nesting = this.#nesting;
    const member = this.#member;
    let at = this.#at;
    const turnEndsAt = at + TURN_BYTES;
    while (at >= 0 && at < turnEndsAt) {
      const before = nesting.repairable;
      const end = endOfValue(bytes, member.at, nesting);
      const field = end < 0 ? null : FIELDS.at(bytes, at, member.nameEnd);
      if (field !== null) this.#keep(field, nesting.repairable > before ? -1 : member.at);
      at = nextMember(bytes, end, member);
    }
    this.#at = at;
    return at >= 0;
  }

  #keep(field: string, valueStart: number): void {
    const index = this.#fields.indexOf(field);
    this.#values[index < 0 ? this.#fields.push(field) - 1 : index] = valueStart;
  }

  /** The call, once it has no more slices; null if it is not JSON. */
  call(): SentCall | null {
    const [bytes, start, nesting] = [this.#bytes, this.#start, this.#nesting];
    const end = this.#isObject ? endOf(this.#at) : endOfValue(bytes, start, nesting);
    if (end < 0) return null;
    const isBroken = nesting.repairable > 0;
    if (!this.#isObject) {
      const fields = isBroken ? null : valueAt(bytes, start, "");
      return { start, end, depth: nesting.deepest, fields, isBroken };
    }
    const fields: Record<string, unknown> = {};
    this.#fields.forEach((field, index) => {
      const at = this.#values[index] ?? -1;
      fields[field] = at < 0 ? null : valueAt(bytes, at, field);
    });
    return { start, end, depth: nesting.deepest + 1, fields, isBroken };
  }
}

/** Scans the call that starts at `start` without pauses. Returns null if it is not JSON. */
export function scanCall(bytes: Buffer, start: number): SentCall | null {
  const scan = new CallScan(bytes, start);
  while (scan.next());
  return scan.call();
}

/** Finds the end of a call that is not JSON, so that only this call is rejected. Null if the end cannot be found. */
export function unreadableCall(bytes: Buffer, start: number): SentCall | null {
  const end = endOfBrackets(bytes, start);
  return end < 0 ? null : { start, end, depth: 1, fields: null, isBroken: true };
}

function valueAt(bytes: Buffer, start: number, field: string): unknown {
  if (beginsWith(bytes, "object", start)) return SOME_OBJECT;
  if (beginsWith(bytes, "list", start)) {
    return firstEntry(bytes, start) < 0 ? EMPTY_LIST : SOME_LIST;
  }
  const end = endOfScalar(bytes, start);
  if (bytes[start] !== QUOTE) {
    const value: unknown = JSON.parse(bytes.toString("utf8", start, end));
    const isNumberId = typeof value === "number" && isIdField(field);
    return isNumberId ? exactNumber(bytes.toString("utf8", start, end)) : value;
  }
  if (!READ.includes(field)) return end - start === 2 ? "" : SOME_TEXT;
  if (isPlain(bytes, start, end)) return bytes.toString("latin1", start + 1, end - 1);
  return JSON.parse(bytes.toString("utf8", start, end));
}
