/**
 * Checks a caller's timestamp. It takes the forms that the server reads (docs/calls.md#timestamps;
 * a test compares the two). Another form would silently be replaced by the time of receipt.
 *
 *   given                                           sent
 *   a Date, or a number: from 1e11 milliseconds,    ISO 8601, UTC, milliseconds
 *     from 1e14 microseconds
 *   text in a form of ISO 8601 or RFC 3339          as it is
 *   an invalid Date, a smaller number (which may    nothing: null
 *     be seconds), other text, years beyond 9999
 */

const FORM =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d*))?)?(?: ?(?:[Zz]|([+\-\u2212])(\d\d)(?::?(\d\d))?))?)?$/;

/** 0000-01-01T00:00:00.000Z */
const FIRST_MS = -62_167_219_200_000;
/** 9999-12-31T23:59:59.999Z */
const LAST_MS = 253_402_300_799_999;
/** Below it a number may be meant as seconds. */
const NUMBER_MIN = 1e11;
/** From it on a number is meant as microseconds. */
const MICROSECONDS_MIN = 1e14;
/** The calendar repeats every 400 years. */
const CALENDAR_CYCLE_MS = 12_622_780_800_000;
const MINUTE_MS = 60_000;

/** The text to send, or null for a value that the server would not read. */
export function readTimestamp(value: unknown): string | null {
  if (typeof value === "string") return isReadable(value) ? value : null;
  if (typeof value === "number") return value >= NUMBER_MIN ? iso(epochMs(value)) : null;
  return value instanceof Date ? iso(value.getTime()) : null;
}

function epochMs(value: number): number {
  return Math.trunc(value >= MICROSECONDS_MIN ? value / 1_000 : value);
}

function iso(atMs: number): string | null {
  return inRange(atMs) ? new Date(atMs).toISOString() : null;
}

function inRange(atMs: number): boolean {
  return atMs >= FIRST_MS && atMs <= LAST_MS;
}

function isReadable(text: string): boolean {
  const match = FORM.exec(text);
  if (match === null) return false;
  const [, yyyy, mm, dd, hh, min, ss, fraction, sign, offsetHh, offsetMin] = match;
  // A calendar cycle later: Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const year = Number(yyyy) + 400;
  const dayMs = Date.UTC(year, Number(mm) - 1, Number(dd));
  // An impossible date such as 30 February becomes another one.
  const day = new Date(dayMs);
  if (day.getUTCMonth() !== Number(mm) - 1 || day.getUTCDate() !== Number(dd)) return false;
  const hour = Number(hh ?? 0);
  const minute = Number(min ?? 0);
  const second = Number(ss ?? 0);
  if (minute > 59 || second > 59) return false;
  const isEndOfDay = hour === 24 && minute === 0 && second === 0 && Number(fraction ?? 0) === 0;
  if (hour > 23 && !isEndOfDay) return false;
  const offsetHours = Number(offsetHh ?? 0);
  const offsetMinutes = Number(offsetMin ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return false;
  const offsetMs = (offsetHours * 60 + offsetMinutes) * MINUTE_MS * (sign === "+" ? 1 : -1);
  const timeMs = ((hour * 60 + minute) * 60 + second) * 1_000;
  return inRange(dayMs - CALENDAR_CYCLE_MS + timeMs - offsetMs);
}
