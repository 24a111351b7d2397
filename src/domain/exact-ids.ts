/**
 * Keeps all digits of IDs that were sent as JSON numbers. JavaScript rounds integers beyond 2^53, and a rounded ID
 * may be the ID of another user.
 *
 *   the number                                      is read as
 *   an integer up to 2^53 - 1                       a number
 *   a larger integer                                its digits as a string, as they were sent
 *   with a fraction or an exponent, and JavaScript
 *     writes the same value: 1.0, 1e3, 1e21         a number
 *     writes another value                          a string, as it was sent
 *     cannot hold it: 1e400                         a number that is too large, which is not an ID
 *
 * Only fields at the top level of a value count as IDs. Nearly all values have no numbers there, and such values are
 * not scanned.
 */

import { isJsonObject, type JsonObject } from "./json.ts";
import { endOfValue, firstEntry, KnownNames, nextEntry, scanObject, startOf } from "./scan-json.ts";
import { endOfScalar } from "./scan-scalar.ts";

const IDS: readonly string[] = [
  ...["userId", "anonymousId", "groupId", "previousId", "messageId"],
  ...["sourceId", "audienceId", "syncId"],
];
const ID_LISTS: readonly string[] = ["userIds", "sourceIds"];
const NAMES = new KnownNames([...IDS, ...ID_LISTS]);

/** Returns true if a field at the top level of a value is an ID. */
export function isIdField(name: string): boolean {
  return IDS.includes(name);
}

/** Returns true if a field at the top level of a value is a list of IDs. */
export function isIdListField(name: string): boolean {
  return ID_LISTS.includes(name);
}

/** JavaScript keeps numbers of up to 15 digits unchanged, even with an exponent of up to two digits. */
const MAY_BE_ROUNDED = /[:[,\s]-?(?:\d[\d.]{15}|[\d.]{1,15}[eE][-+]?\d{3})/;

/**
 * @param json what `JSON.parse` returned for `text`; IDs in it are replaced.
 * @param bytes the same text in UTF-8.
 */
export function withExactIds(json: unknown, text: string, bytes: Buffer): unknown {
  if (isJsonObject(json) && hasNumberId(json) && MAY_BE_ROUNDED.test(text)) readIds(json, bytes);
  return json;
}

/** Reads a JSON number as an ID, according to the table above. */
export function exactNumber(token: string): number | string {
  const number = Number(token);
  if (/^-?\d+$/.test(token)) return Number.isSafeInteger(number) ? number : token;
  return !Number.isFinite(number) || decimal(token) === decimal(`${number}`) ? number : token;
}

/**
 * Each field is accessed by its name instead of in a loop over names, because this function runs for every value, and
 * access by a constant name takes only a few nanoseconds.
 */
function hasNumberId(json: JsonObject): boolean {
  return (
    typeof json.userId === "number" ||
    typeof json.anonymousId === "number" ||
    typeof json.messageId === "number" ||
    typeof json.groupId === "number" ||
    typeof json.previousId === "number" ||
    typeof json.sourceId === "number" ||
    typeof json.audienceId === "number" ||
    typeof json.syncId === "number" ||
    (json.userIds !== undefined && hasNumber(json.userIds)) ||
    (json.sourceIds !== undefined && hasNumber(json.sourceIds))
  );
}

function hasNumber(list: unknown): boolean {
  return Array.isArray(list) && list.some((entry) => typeof entry === "number");
}

/**
 * Scans the value once, however many IDs it has, because anyone with a write key may send values with many members. A
 * reviver with the source text of numbers would recurse, and reads only about 2,000 levels of nesting.
 */
function readIds(json: Record<string, unknown>, bytes: Buffer): void {
  const last = new Map<string, number>();
  scanObject(bytes, startOf(bytes), (nameStart, nameEnd, at) => {
    const name = NAMES.at(bytes, nameStart, nameEnd);
    if (name !== null) last.set(name, at);
    return endOfValue(bytes, at);
  });
  for (const [name, at] of last) {
    const read = json[name];
    if (typeof read === "number")
      json[name] = exactNumber(bytes.toString("latin1", at, endOfScalar(bytes, at)));
    else if (Array.isArray(read)) json[name] = exactNumbers(bytes, at, read);
  }
}

/** Entries that are not numbers are unchanged. */
function exactNumbers(bytes: Buffer, start: number, read: readonly unknown[]): readonly unknown[] {
  const ids: unknown[] = [];
  for (let at = firstEntry(bytes, start); at >= 0; ) {
    const end = endOfValue(bytes, at);
    const entry = read[ids.length];
    ids.push(typeof entry === "number" ? exactNumber(bytes.toString("latin1", at, end)) : entry);
    at = nextEntry(bytes, end);
  }
  return ids;
}

/** Returns the same string for all decimal notations of one value, such as `1.50e3` and `1500`. */
function decimal(token: string): string {
  const [mantissa = "", exponent = "0"] = token.toLowerCase().split("e");
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = mantissa.slice(sign.length).split(".");
  const digits = `${whole}${fraction}`;
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === "0") start += 1;
  while (end > start && digits[end - 1] === "0") end -= 1;
  if (start === end) return "0";
  const power = Number(exponent) - fraction.length + digits.length - end;
  return `${sign}${digits.slice(start, end)}e${power}`;
}
