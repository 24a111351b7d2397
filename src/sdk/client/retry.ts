/**
 * Decides what happens to a batch after a request.
 *
 *   outcome                              attempts left   decision
 *   2xx                                  -               acknowledged
 *   408, 429, 5xx, or no response        yes             retry
 *   408, 429, 5xx, or no response        no              lost, attempts-exhausted
 *   any other status, even 400 and 3xx   -               lost, rejected
 *
 * The delay is random, from 0 up to a bound that doubles with each attempt (full jitter). Clients that failed at the
 * same time therefore do not retry at the same time. `Retry-After` can lengthen the delay to up to an hour, but never
 * shortens it.
 */

import { isError, type Loss } from "./client-error.ts";

export type SendOutcome =
  | {
      readonly kind: "response";
      readonly status: number;
      /** The `Retry-After` header as it arrived. */
      readonly retryAfter: string | null;
      /** The endpoint's explanation; null if there is none. */
      readonly explanation: string | null;
    }
  | { readonly kind: "no-response"; readonly cause: unknown };

type SendDecision =
  | { readonly kind: "acknowledged" }
  | { readonly kind: "retry"; readonly delayMs: number; readonly why: string }
  | { readonly kind: "give-up"; readonly loss: Loss };

const DELAY_FIRST_MS = 500;
const DELAY_MAX_MS = 30_000;
const RETRY_AFTER_MAX_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * @param attempt the number of the request that had this outcome, from 1.
 * @param random in [0, 1).
 */
export function decide(
  outcome: SendOutcome,
  attempt: number,
  attemptsMax: number,
  nowMs: number,
  random: number,
): SendDecision {
  const hasResponse = outcome.kind === "response";
  if (hasResponse && outcome.status >= 200 && outcome.status < 300) return { kind: "acknowledged" };
  const status = hasResponse ? outcome.status : null;
  const cause = hasResponse ? undefined : outcome.cause;
  const why = describe(outcome);
  if (status !== null && !isPassing(status)) {
    const message = `the endpoint ${why}; trying again would not change that`;
    return {
      kind: "give-up",
      loss: { reason: "rejected", message, attempts: attempt, status, cause },
    };
  }
  if (attempt >= attemptsMax) {
    const message = `lost after ${attempt} attempts; at the last attempt, the endpoint ${why}`;
    return {
      kind: "give-up",
      loss: { reason: "attempts-exhausted", message, attempts: attempt, status, cause },
    };
  }
  const boundMs = Math.min(DELAY_MAX_MS, DELAY_FIRST_MS * 2 ** (attempt - 1));
  const requestedMs = hasResponse ? (retryAfterMs(outcome.retryAfter, nowMs) ?? 0) : 0;
  const delayMs = Math.max(Math.ceil(boundMs * random), Math.min(requestedMs, RETRY_AFTER_MAX_MS));
  return { kind: "retry", delayMs, why };
}

/**
 * Matches the three date formats of HTTP. In the first format, a time zone as in mail is also accepted.
 * `domain/retry-after.ts` has the same expression.
 */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC|[-+]\d{4})|[A-Z][a-z]+, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/**
 * Returns the milliseconds from now; null if the header is absent, or contains neither seconds nor a date. A fraction
 * is rounded up, the longest entry of a list applies, and a wait of more than a day counts as absent.
 */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  let longestMs: number | null = null;
  // A comma in a date is followed by a day; a comma in a list is followed by another element.
  for (const element of header?.split(/,(?! *\d\d?[ -][A-Z])/) ?? []) {
    const ms = elementMs(element.trim(), nowMs);
    if (ms !== null && ms <= DAY_MS) longestMs = Math.max(longestMs ?? 0, ms);
  }
  return longestMs;
}

function elementMs(text: string, nowMs: number): number | null {
  if (/^(?:\d+\.?\d*|\.\d+)$/.test(text)) return Math.ceil(Number(text)) * 1_000;
  // Date.parse alone would also accept "soon 5" as a date.
  if (!HTTP_DATE.test(text)) return null;
  // The last format has no time zone: the time is in UTC.
  const atMs = Date.parse(/:\d{2} \d{4}$/.test(text) ? `${text} GMT` : text);
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}

function isPassing(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status < 600);
}

function describe(outcome: SendOutcome): string {
  if (outcome.kind === "no-response") {
    return `did not respond (${innermost(outcome.cause)})`;
  }
  const { status, explanation } = outcome;
  return explanation === null ? `responded ${status}` : `responded ${status}: ${explanation}`;
}

/** The message of `fetch` is only "fetch failed"; the cause of the error has the details. */
function innermost(error: unknown): string {
  if (!isError(error)) return "no reason was given";
  if (isError(error.cause)) return innermost(error.cause);
  // An AggregateError, which is the result of trying several addresses, has a code but no message.
  return error.message || String(Reflect.get(error, "code") ?? error.name);
}
