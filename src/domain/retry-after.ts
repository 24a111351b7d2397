/** Parses the header `Retry-After`. */

const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC|[-+]\d{4})|[A-Z][a-z]+, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

const ASCTIME = /:\d{2} \d{4}$/;

/** A longer wait is probably a mistake, which must not put a destination on hold for the whole retry window. */
const RETRY_AFTER_MAX_MS = 86_400_000;

/**
 * Parses `Retry-After`, which contains either seconds or an HTTP date in one of three forms (RFC 9110, 5.6.7). A
 * fraction of a second is rounded up. Because some servers send such dates, the day in an IMF-fixdate may have only
 * one digit, and the time zone may have a form that is used in mail. A date in the past counts as 0. If the header
 * is a list, or was sent several times, the longest wait counts. Waits of more than a day and all other values are
 * ignored.
 */
export function retryAfterMs(value: string | null, nowMs: number): number | null {
  let longestMs: number | null = null;
  // In a date, the comma is followed by the day of the month. Any other comma separates the elements of a list.
  for (const element of value?.split(/,(?! *\d\d?[ -][A-Z])/) ?? []) {
    const ms = elementMs(element.trim(), nowMs);
    if (ms !== null && ms <= RETRY_AFTER_MAX_MS) longestMs = Math.max(longestMs ?? 0, ms);
  }
  return longestMs;
}

function elementMs(text: string, nowMs: number): number | null {
  if (/^(?:\d+\.?\d*|\.\d+)$/.test(text)) return Math.ceil(Number(text)) * 1_000;
  if (!HTTP_DATE.test(text)) return null;
  // The asctime form has no time zone. Its times are in UTC.
  const atMs = Date.parse(ASCTIME.test(text) ? `${text} GMT` : text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
