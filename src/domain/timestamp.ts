/**
 * Reads and writes instants (docs/calls.md#timestamps). `new Date(text)` is not used, because it reads `Order 5` as
 * a date in 2001, and reads a time without a zone as local time.
 *
 *   accepted                                   not accepted
 *   2026-03-01                                 2026-02-29, and other impossible dates
 *   2026-03-01T09:30                           2026-3-1, 20260301, 2026-W09-7, 2026-060
 *   2026-03-01T09:30:15                        09:30:60, 25:00
 *   any number of fraction digits after        a fraction of minutes
 *     the seconds and a full stop or a comma,
 *     truncated after three
 *   t or a space for T
 *   no zone (UTC), Z, z, UTC, GMT, +02:00,     other names of zones, as they are not unique
 *     +0200, +02, GMT+02:00, each also after a
 *     space, and before the name of its zone:
 *     +0200 CEST, +02:00[Europe/Berlin]
 *   24:00:00, the end of a day                 24:00:01
 *   20260301T093015Z, and with words:          2026-03-01T0930, days or months of other languages,
 *     Sun, 01 Mar 2026 09:30:15 GMT              years of two digits, 3/1/2026
 *     Sun Mar 01 2026 09:30:15 GMT+0100 (CET)
 *     Sun Mar  1 09:30:15 UTC 2026
 *   /Date(1772357415000)/                      an object
 *   a number since the epoch, of seconds       smaller numbers, and those between, which clients
 *     (1e9 to 1e10), milliseconds (from 1e11),   also use for other units and epochs
 *     microseconds (from 1e14) or nanoseconds
 *     (from 1e18); the rest is truncated
 *   the same as a string of 10, 13, 16 or 19   other digits, which may be a date: 202603010930
 *     digits, also with a fraction
 *
 * Years below 0 and above 9999 (UTC) are not accepted, because ISO 8601 writes years with four digits.
 */

const FORM =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d*))?)?(?: ?(?:[Zz]|UTC|GMT|(?:UTC|GMT)?([+\-\u2212])(\d\d)(?::?(\d\d))?(?: [A-Z]{3,5}| [+-]\d{4})?)(?: ?\[[\w/+-]+\]| \([^()]*\))?(?: m=[+-][\d.]+)?)?)?$/;
/** The same without separators, which are then inserted. */
const BASIC = /^(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(\d\d)(?!\d)/;
const WORDS =
  /^(?:[A-Z][a-z]{2,8},? +)?(?:(\d{1,2})[ -]([A-Z][a-z]{2})[ -](\d{4})|([A-Z][a-z]{2}) +(\d{1,2})(?: +(\d{4}))?) +(\d\d:\d\d\S*)( (?:UTC|GMT|Z|[+-]).*?)?(?: (\d{4}))?$/;
const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const DIGITS = /^(?:\d{10}(?:\d{3}){0,3}(?:\.\d+)?|\/Date\(\d{13}(?:[+-]\d{4})?\)\/)$/;
/** Longer texts are not searched for words. No accepted form is longer. */
const WORDS_CHARACTERS_MAX = 100;

/** 0000-01-01T00:00:00.000Z */
const FIRST_MS = -62_167_219_200_000;
/** 9999-12-31T23:59:59.999Z */
const LAST_MS = 253_402_300_799_999;
/**
 * From these values on, a number is read in this unit, because in the unit before it, it would be in the year 5138 or
 * later. Seconds and nanoseconds begin in 2001, as smaller numbers can be the seconds since 2001 that Swift writes, and
 * the ticks of .NET. Seconds end in 2286.
 */
const [SECONDS_MIN, SECONDS_END, MS_MIN, MICROSECONDS_MIN, NANOSECONDS_MIN] = [
  1e9, 1e10, 1e11, 1e14, 1e18,
];
/** The calendar repeats every 400 years. */
const CALENDAR_CYCLE_MS = 12_622_780_800_000;
const MINUTE_MS = 60_000;
const DAY_S = 86_400;

/** Milliseconds since the epoch, or null for values that cannot be read. */
export function readTimestamp(value: unknown): number | null {
  if (typeof value === "string") return readText(value);
  return typeof value === "number" ? readNumber(value) : null;
}

function readNumber(value: number): number | null {
  if (value >= NANOSECONDS_MIN) return inRange(Math.trunc(value / 1e6));
  if (value >= MICROSECONDS_MIN) return inRange(Math.trunc(value / 1_000));
  if (value >= MS_MIN) return Math.trunc(value);
  // A fraction of a second is not exact in a double: 0.123 may be slightly less than 123 ms.
  const isSeconds = value >= SECONDS_MIN && value < SECONDS_END;
  return isSeconds ? Math.trunc(value * 1_000 + 5e-4) : null;
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
  if (DIGITS.test(text)) return readNumber(Number.parseFloat(text.replace("/Date(", "")));
  const match = FORM.exec(text) ?? FORM.exec(rewritten(text));
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

/** Rewrites a date with words, or without separators, in the form of ISO 8601 with separators. */
function rewritten(text: string): string {
  const words = text.length <= WORDS_CHARACTERS_MAX ? WORDS.exec(text) : null;
  if (words === null) return text.replace(BASIC, "$1-$2-$3T$4:$5:$6");
  const [, day, month, year, month2, day2, year2, time, zone = "", year3] = words;
  const at = MONTHS.indexOf(month ?? month2 ?? "");
  const years = [year, year2, year3].filter((each) => each !== undefined);
  if (at % 3 !== 0 || years.length !== 1) return "";
  const two = (number: string | number) => `${number}`.padStart(2, "0");
  return `${years}-${two(at / 3 + 1)}-${two(day ?? day2 ?? "")}T${time}${zone}`;
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
