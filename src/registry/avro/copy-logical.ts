/**
 * Copies values of logical types to JSON (docs/calls.md#avro).
 *
 *   type                                 as JSON
 *   date                                 "2026-03-01"
 *   time-millis, time-micros             "09:30:15.250"; further digits are dropped
 *   timestamp-millis                     "2026-03-01T09:30:15.250Z"
 *   timestamp-micros, -nanos             the same with six and nine digits; a call's own times have
 *                                        three, further digits are dropped
 *   local-timestamp-*                    the same without Z, because the zone is unknown
 *   decimal                              a number
 *   uuid of 16 bytes                     "123e4567-e89b-12d3-a456-426614174000"
 *   duration                             "P1M2DT3.004S": months, days, seconds
 *
 *   a value without such a form          as JSON
 *   a date or time out of range          its number
 *   a decimal too large for a double     null, like infinity
 */

import { isoTimestamps } from "../../domain/timestamp.ts";
import { uuidText } from "../../domain/uuid.ts";
import type { Transcript } from "./transcript.ts";

/** Copies a value of one type from Avro to JSON. */
export type Copy = (transcript: Transcript) => void;

/** The limit of JavaScript's dates. */
const DATE_MAX_MS = 8.64e15;
const DAY_MS = 86_400_000;
/** Maximum bytes of a decimal's integer part. A number with a longer integer part is larger than any double. */
const WHOLE_MAX_BYTES = 130;
const BITS_PER_DIGIT = 3.33;

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const [QUOTE, COLON, POINT, Z] = [0x22, 0x3a, 0x2e, 0x5a];

const iso = isoTimestamps();
let lastDay = Number.NaN;
let lastDayText = "";

/** `"2026-03-01T`, cached, because consecutive times often share the day. */
function beginOfDay(day: number): string {
  if (day !== lastDay) {
    lastDayText = `"${iso(day * DAY_MS).slice(0, -"00:00:00.000Z".length)}`;
    lastDay = day;
  }
  return lastDayText;
}

function timeOfDay(transcript: Transcript, ofDayMs: number): void {
  const hour = Math.floor(ofDayMs / HOUR_MS);
  const minute = Math.floor((ofDayMs - hour * HOUR_MS) / MINUTE_MS);
  const ofMinuteMs = ofDayMs - hour * HOUR_MS - minute * MINUTE_MS;
  const second = Math.floor(ofMinuteMs / 1_000);
  transcript.digits(hour, 2);
  transcript.byte(COLON);
  transcript.digits(minute, 2);
  transcript.byte(COLON);
  transcript.digits(second, 2);
  transcript.byte(POINT);
  transcript.digits(ofMinuteMs - second * 1_000, 3);
}

export function copyDate(transcript: Transcript): void {
  const days = transcript.long();
  const atMs = Number(days) * DAY_MS;
  if (Math.abs(atMs) > DATE_MAX_MS) transcript.number(days);
  else transcript.ascii(`${beginOfDay(Number(days)).slice(0, -1)}"`);
}

/** @param perMs units of the type per millisecond. */
export function copyTime(perMs: 1 | 1_000): Copy {
  return (transcript) => {
    const units = transcript.long();
    const ofDayMs = Math.floor(Number(units) / perMs);
    if (ofDayMs < 0 || ofDayMs >= DAY_MS) return transcript.number(units);
    transcript.byte(QUOTE);
    timeOfDay(transcript, ofDayMs);
    transcript.byte(QUOTE);
  };
}

/**
 * @param digits how many digits the unit has after the milliseconds: 0, 3 or 6.
 * @param isWhole `true` if these digits are also written.
 */
export function copyTimestamp(digits: 0 | 3 | 6, isWhole: boolean, hasZone: boolean): Copy {
  const perMs = 10 ** digits;
  return (transcript) => {
    const units = transcript.long();
    const rest = digits === 0 ? 0 : remainder(units, perMs);
    const atMs = wholeMs(units, rest, perMs);
    if (Math.abs(atMs) > DATE_MAX_MS) return transcript.number(units);
    const day = Math.floor(atMs / DAY_MS);
    transcript.ascii(beginOfDay(day));
    timeOfDay(transcript, atMs - day * DAY_MS);
    if (isWhole) transcript.digits(rest, digits);
    if (hasZone) transcript.byte(Z);
    transcript.byte(QUOTE);
  };
}

/** Returns the remainder, which is not negative, even for times before 1970. */
function remainder(units: number | bigint, perMs: number): number {
  const rest = typeof units === "bigint" ? Number(units % BigInt(perMs)) : units % perMs;
  return rest < 0 ? rest + perMs : rest;
}

function wholeMs(units: number | bigint, rest: number, perMs: number): number {
  if (typeof units === "number") return (units - rest) / perMs;
  return Number((units - BigInt(rest)) / BigInt(perMs));
}

export function copyDecimal(scale: number, lengthOf: (transcript: Transcript) => number): Copy {
  const most = WHOLE_MAX_BYTES + Math.ceil((scale * BITS_PER_DIGIT) / 8);
  return (transcript) => {
    const bytes = transcript.take(lengthOf(transcript));
    const unscaled = wholeNumber(bytes, most);
    const text = unscaled === null ? "" : withPoint(unscaled, scale);
    const isDouble = text !== "" && Number.isFinite(Number(text));
    transcript.ascii(isDouble ? text : "null");
  };
}

/** Reads two's complement, highest byte first. Null if more than `most` bytes are needed. */
function wholeNumber(bytes: Buffer, most: number): number | bigint | null {
  const { length } = bytes;
  if (length === 0) return 0;
  if (length <= 6) return bytes.readIntBE(0, length);
  const sign = ((bytes[0] ?? 0) & 0x80) === 0 ? 0 : 0xff;
  let start = 0;
  while (start < length - 1 && bytes[start] === sign) start += 1;
  if (length - start > most) return null;
  const digits = BigInt(`0x${bytes.toString("hex", start)}`);
  return sign === 0 ? digits : digits - (1n << BigInt(8 * (length - start)));
}

function withPoint(unscaled: number | bigint, scale: number): string {
  const text = `${unscaled}`;
  if (scale === 0) return text;
  const minus = text.startsWith("-") ? "-" : "";
  const digits = text.slice(minus.length).padStart(scale + 1, "0");
  return `${minus}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

export function copyUuid(transcript: Transcript): void {
  transcript.ascii(`"${uuidText(transcript.take(16).toString("hex"))}"`);
}

export function copyDuration(transcript: Transcript): void {
  const bytes = transcript.take(12);
  const [months, days, ms] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8)];
  const rest = `${ms % 1_000}`.padStart(3, "0");
  transcript.ascii(`"P${months}M${days}DT${Math.floor(ms / 1_000)}.${rest}S"`);
}
