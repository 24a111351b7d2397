/**
 * Reads and writes instants (docs/calls.md#timestamps). `new Date(text)` is not the parser: it
 * takes `Order 5` for a date in 2001, and a time without a zone for local time.
 *
 *   read                                       not read
 *   2026-03-01                                 2026-02-29, and other impossible dates
 *   2026-03-01T09:30                           2026-3-1, 20260301, 2026-W09-7, 2026-060
 *   2026-03-01T09:30:15                        09:30:60, 25:00
 *   any number of fraction digits after        a comma before the fraction
 *     the seconds, cut after three
 *   t or a blank for T                         Sun, 01 Mar 2026 09:30:15 GMT, 3/1/2026
 *   no zone (UTC), Z, z, +02:00, +0200, +02,   zone names
 *     each also after a blank
 *   24:00:00, the end of a day                 24:00:01
 *   a number from 1e11: milliseconds since     smaller numbers, which may be seconds; digits
 *     the epoch; from 1e14 microseconds; the     in a text
 *     rest is cut
 *
 * Times outside the years 0 to 9999 UTC are not read: ISO 8601 writes years in four digits.
 */

const FORM =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d*))?)?(?: ?(?:[Zz]|([+\-\u2212])(\d\d)(?::?(\d\d))?))?)?$/;

/** 0000-01-01T00:00:00.000Z */
const FIRST_MS = -62_167_219_200_000;
/** 9999-12-31T23:59:59.999Z */
const LAST_MS = 253_402_300_799_999;
/** Below it a number may be meant as seconds. */
const NUMBER_MIN = 1e11;
/** From it on a number is meant as microseconds: as milliseconds it would be the year 5138. */
const MICROSECONDS_MIN = 1e14;
/** The calendar repeats every 400 years. */
const CALENDAR_CYCLE_MS = 12_622_780_800_000;
const MINUTE_MS = 60_000;

/** Milliseconds since the epoch, or null for values that cannot be read. */
export function readTimestamp(value: unknown): number | null {
  if (typeof value === "string") return readText(value);
  if (typeof value !== "number" || value < NUMBER_MIN) return null;
  return inRange(Math.trunc(value >= MICROSECONDS_MIN ? value / 1_000 : value));
}

/** ISO 8601, UTC, milliseconds: `2026-03-01T09:30:15.000Z`. Throws a RangeError for no instant. */
export const isoTimestamp = isoTimestamps();

/**
 * A writer that keeps the second it wrote last, without its milliseconds: instants that follow each
 * other often share it. Callers that write instants of another kind have one of their own.
 */
export function isoTimestamps(): (atMs: number) => string {
  let lastSecond = Number.NaN;
  let lastText = "";
  return (atMs) => {
    const wholeMs = Math.trunc(atMs);
    const second = Math.floor(wholeMs / 1_000);
    if (second !== lastSecond) {
      lastText = new Date(second * 1_000).toISOString().slice(0, -"000Z".length);
      lastSecond = second;
    }
    const ms = wholeMs - second * 1_000;
    const zeros = ms < 10 ? "00" : ms < 100 ? "0" : "";
    return `${lastText}${zeros}${ms}Z`;
  };
}

/** Whether `isoTimestamp` writes it with a year of four digits. */
export function isWritable(atMs: number): boolean {
  return Number.isInteger(atMs) && atMs >= FIRST_MS && atMs <= LAST_MS;
}

function inRange(atMs: number): number | null {
  return isWritable(atMs) ? atMs : null;
}

function readText(text: string): number | null {
  const match = FORM.exec(text);
  if (match === null) return null;
  const [, yyyy, mm, dd, hh, min, ss, fraction, sign, offsetHh, offsetMin] = match;
  const year = Number(yyyy);
  const month = Number(mm);
  const day = Number(dd);
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return null;
  const hour = Number(hh ?? 0);
  const minute = Number(min ?? 0);
  const second = Number(ss ?? 0);
  const fractionMs = Number((fraction ?? "").slice(0, 3).padEnd(3, "0"));
  if (minute > 59 || second > 59) return null;
  const isEndOfDay = hour === 24 && minute === 0 && second === 0 && Number(fraction ?? 0) === 0;
  if (hour > 23 && !isEndOfDay) return null;
  const offsetMs = readOffsetMs(sign, offsetHh, offsetMin);
  if (offsetMs === null) return null;
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; a calendar cycle later it does not.
  const localMs =
    Date.UTC(year + 400, month - 1, day, hour, minute, second, fractionMs) - CALENDAR_CYCLE_MS;
  return inRange(localMs - offsetMs);
}

function readOffsetMs(sign?: string, hours?: string, minutes?: string): number | null {
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes ?? 0) > 59) return null;
  const offsetMs = (Number(hours) * 60 + Number(minutes ?? 0)) * MINUTE_MS;
  return sign === "+" ? offsetMs : -offsetMs;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
