/**
 * Identifiers that were written as JSON numbers, with the digits that were sent: JavaScript rounds
 * numbers beyond 2^53, and the rounded ID can belong to somebody else.
 *
 *   the number                                      is read as
 *   a whole one, up to 2^53 - 1                     a number
 *   a whole one beyond that                         the text of its digits, as it was sent
 *   with a fraction or an exponent, and JavaScript
 *     writes the same value: 1.0, 1e3, 1e21         a number
 *     writes another value                          its text, as it was sent
 *     cannot hold it: 1e400                         a number that is too large, which is no ID
 *
 * Only the fields at the top of a value are identifiers. Nearly all values have none that is a
 * number, and are not looked through.
 */

import { isJsonObject, type JsonObject } from "./json.ts";
import { endOfValue, firstEntry, nextEntry, scanObject, skipSpace } from "./scan-json.ts";

const IDS: readonly string[] = [
  ...["userId", "anonymousId", "groupId", "previousId", "messageId"],
  ...["sourceId", "audienceId", "syncId"],
];
const ID_LISTS: readonly string[] = ["userIds", "sourceIds"];

/** Whether a field at the top of a value is an identifier. */
export function isIdField(name: string): boolean {
  return IDS.includes(name);
}

/** JavaScript writes up to 15 digits as they were, and with an exponent of up to two digits. */
const MAY_BE_ROUNDED = /[:[,\s]-?(?:\d[\d.]{15}|[\d.]{1,15}[eE][-+]?\d{3})/;

/**
 * @param json what `JSON.parse` made of `text`; identifiers in it are replaced.
 * @param bytes the same text in UTF-8.
 */
export function withExactIds(json: unknown, text: string, bytes: Buffer): unknown {
  if (isJsonObject(json) && hasNumberId(json) && MAY_BE_ROUNDED.test(text)) readIds(json, bytes);
  return json;
}

/** The number that a token of JSON is as an identifier; see the table. */
export function exactNumber(token: string): number | string {
  const number = Number(token);
  if (/^-?\d+$/.test(token)) return Number.isSafeInteger(number) ? number : token;
  return !Number.isFinite(number) || decimal(token) === decimal(`${number}`) ? number : token;
}

/** Written out, each name is looked up in a few nanoseconds: this is done for every value. */
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

const BYTE_ORDER_MARK = Buffer.from("\ufeff");

function readIds(json: Record<string, unknown>, bytes: Buffer): void {
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const start = skipSpace(bytes, isMarked ? BYTE_ORDER_MARK.length : 0);
  const nesting = { deepest: 0 };
  // A name can be repeated. The last one counts, as in JSON.parse, and only that one is read.
  const places = new Map<string, readonly [at: number, end: number]>();
  scanObject(bytes, start, (nameStart, nameEnd, at) => {
    const end = endOfValue(bytes, at, nesting);
    const name = JSON.parse(bytes.toString("utf8", nameStart, nameEnd)) as string;
    if (IDS.includes(name) || ID_LISTS.includes(name)) places.set(name, [at, end]);
    return end;
  });
  for (const [name, [at, end]] of places) {
    const read = json[name];
    if (typeof read === "number") json[name] = exactNumber(bytes.toString("latin1", at, end));
    else if (Array.isArray(read)) json[name] = exactNumbers(bytes, at, read);
  }
}

/** Entries that are no number stay as they were read. */
function exactNumbers(bytes: Buffer, start: number, read: readonly unknown[]): readonly unknown[] {
  const nesting = { deepest: 0 };
  const ids: unknown[] = [];
  for (let at = firstEntry(bytes, start); at >= 0; ) {
    const end = endOfValue(bytes, at, nesting);
    const entry = read[ids.length];
    ids.push(typeof entry === "number" ? exactNumber(bytes.toString("latin1", at, end)) : entry);
    at = nextEntry(bytes, end);
  }
  return ids;
}

/** One text for each value that decimal digits can write: `1.50e3` and `1500` have the same. */
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
