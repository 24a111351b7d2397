/**
 * Reads and writes instants (docs/calls.md#timestamps). `new Date(text)` is not used, because it reads `Order 5` as
 * a date in 2001, and reads a time without a zone as local time.
 *
 *   accepted                                   not accepted
 *   2026-03-01                                 2026-02-29, and other impossible dates
 *   2026-03-01T09:30                           2026-3-1, 20260301, 2026-W09-7, 2026-060
 *   2026-03-01T09:30:15                        09:30:60, 25:00
 *   any number of fraction digits after        a comma before the fraction
 *     the seconds, truncated after three
 *   t or a space for T                         Sun, 01 Mar 2026 09:30:15 GMT, 3/1/2026
 *   no zone (UTC), Z, z, +02:00, +0200, +02,   zone names
 *     each also after a space
 *   24:00:00, the end of a day                 24:00:01
 *   a number from 1e11: milliseconds since     smaller numbers, which may be seconds; digits
 *     the epoch; from 1e14 microseconds; the     in a string
 *     rest is truncated
 *
 * Years below 0 and above 9999 (UTC) are not accepted, because ISO 8601 writes years with four digits.
 */

const FORM =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d*))?)?(?: ?(?:[Zz]|([+\-\u2212])(\d\d)(?::?(\d\d))?))?)?$/;

/** 0000-01-01T00:00:00.000Z */
const FIRST_MS = -62_167_219_200_000;
/** 9999-12-31T23:59:59.999Z */
const LAST_MS = 253_402_300_799_999;
/** Smaller numbers are not accepted, because they may be meant as seconds. */
const NUMBER_MIN = 1e11;
/**
 * Numbers from this value on are read as microseconds, because as milliseconds they would be in the year 5138 or
 * later.
 */
const MICROSECONDS_MIN = 1e14;
/** The calendar repeats every 400 years. */
const CALENDAR_CYCLE_MS = 12_622_780_800_000;
const MINUTE_MS = 60_000;
const DAY_S = 86_400;

/** Milliseconds since the epoch, or null for values that cannot be read. */
export function readTimestamp(value: unknown): number | null {
  if (typeof value === "string") return readText(value);
  if (typeof value !== "number" || value < NUMBER_MIN) return null;
  return inRange(Math.trunc(value >= MICROSECONDS_MIN ? value / 1_000 : value));
}

/**
 * The timestamp as an ISO 8601 string, or null if it cannot be read. A string that already has the format of
 * `isoTimestamp` is returned unchanged.
 */
export function asIsoTimestamp(value: unknown): string | null {
  if (typeof value === "string" && !Number.isNaN(readWritten(value))) return value;
  const atMs = readTimestamp(value);
  return atMs === null ? null : isoTimestamp(atMs);
}

/**
 * Formats an instant as ISO 8601 in UTC with milliseconds, such as `2026-03-01T09:30:15.000Z`. Throws a RangeError
 * if the argument is not an instant.
 */
export const isoTimestamp = isoTimestamps();

/** `00` to `59`. */
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => `${number}`.padStart(2, "0"));

/**
 * Returns a function that formats instants and caches the last day and second, because consecutive instants often
 * have the same ones. Callers that format instants of a different period use a function of their own.
 */
export function isoTimestamps(): (atMs: number) => string {
  let lastDay = Number.NaN;
  let lastSecond = Number.NaN;
  let dayText = "";
  let lastText = "";
  return (atMs) => {
    const wholeMs = Math.trunc(atMs);
    const second = Math.floor(wholeMs / 1_000);
    if (second !== lastSecond) {
      const day = Math.floor(second / DAY_S);
      if (day !== lastDay) {
        dayText = new Date(day * DAY_S * 1_000).toISOString().slice(0, -"00:00:00.000Z".length);
        lastDay = day;
      }
      const minute = Math.floor((second - day * DAY_S) / 60);
      const hours = Math.floor(minute / 60);
      const ofMinute = second - day * DAY_S - minute * 60;
      lastText = `${dayText}${two(hours)}:${two(minute - hours * 60)}:${two(ofMinute)}.`;
      lastSecond = second;
    }
    const ms = wholeMs - second * 1_000;
    const zeros = ms < 10 ? "00" : ms < 100 ? "0" : "";
    return `${lastText}${zeros}${ms}Z`;
  };
}

function two(number: number): string {
  return TWO_DIGITS[number] ?? `${number}`;
}

/** Returns true if `isoTimestamp` writes this instant with a four-digit year. */
export function isWritable(atMs: number): boolean {
  return Number.isInteger(atMs) && atMs >= FIRST_MS && atMs <= LAST_MS;
}

function inRange(atMs: number): number | null {
  return isWritable(atMs) ? atMs : null;
}

const ZERO = 0x30;
const WRITTEN = "0000-00-00T00:00:00.000Z";
/** The last day that was read, as `yyyymmdd`, and the start of that day. */
let [readDay, readDayMs] = [Number.NaN, Number.NaN];

/**
 * Reads the format that `isoTimestamp` writes. Nearly all timestamps have this format, and the regular expression
 * would take ten times as long. Returns NaN if the text has another format, or is not an instant.
 */
function readWritten(text: string): number {
  if (text.length !== WRITTEN.length) return Number.NaN;
  if (text[4] !== "-" || text[7] !== "-" || text[10] !== "T" || text[13] !== ":") return Number.NaN;
  if (text[16] !== ":" || text[19] !== "." || text[23] !== "Z") return Number.NaN;
  const day = digits(text, 0, 4) * 10_000 + digits(text, 5, 7) * 100 + digits(text, 8, 10);
  const [hour, minute] = [digits(text, 11, 13), digits(text, 14, 16)];
  const [second, ms] = [digits(text, 17, 19), digits(text, 20, 23)];
  if (hour > 23 || minute > 59 || second > 59) return Number.NaN;
  if (day !== readDay) {
    [readDay, readDayMs] = [day, beginningOf(day)];
  }
  return readDayMs + ((hour * 60 + minute) * 60 + second) * 1_000 + ms;
}

/** The start of a day given as `yyyymmdd`; NaN if there is no such day. */
function beginningOf(day: number): number {
  const year = Math.floor(day / 10_000);
  const month = Math.floor(day / 100) % 100;
  const ofMonth = day % 100;
  if (!(month >= 1 && month <= 12 && ofMonth >= 1)) return Number.NaN;
  if (ofMonth > daysInMonth(year, month)) return Number.NaN;
  return dateMs(year, month, ofMonth);
}

/** The number whose digits are between `from` and `to`; NaN if there is any other character. */
function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/**
 * Date.UTC reads the years 0 to 99 as 1900 to 1999, so the date is computed one calendar cycle later and then moved
 * back.
 */
function dateMs(year: number, month: number, day: number): number {
  return Date.UTC(year + 400, month - 1, day) - CALENDAR_CYCLE_MS;
}

function readText(text: string): number | null {
  const writtenMs = readWritten(text);
  if (!Number.isNaN(writtenMs)) return writtenMs;
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
  const localMs =
    dateMs(year, month, day) + ((hour * 60 + minute) * 60 + second) * 1_000 + fractionMs;
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
