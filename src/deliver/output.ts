/**
 * The records that take a delivery's place when it was not accepted: parked, expired, rejected.
 *
 *   output       the delivery then                         its sentence
 *   parked       counts one parking more, is due after     -
 *                the delay; not-before only where it lies
 *                beyond that
 *   expired      as it was                                 the window, the attempts made, why it was
 *                                                          not attempted when it was due, the last answer
 *   all          as it was                                 the last answer
 *   rejected
 */

import type { DeadLetterReason } from "../domain/dead-letter.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";

/** A record to write in place of the one in hand. */
export type Output =
  | { readonly kind: "retry"; readonly delayMs: number; readonly delivery: Delivery }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      /** One sentence. */
      readonly error: string;
      readonly delivery: Delivery;
      /** Its window ended while it was due and was not attempted. */
      readonly waited?: Waited;
    };

/** Why a delivery that was due was not attempted. */
const WAITED = {
  paused: "its destination was paused",
  disabled: "its destination was disabled",
  "retry-after": "its endpoint had asked to be left alone",
  "circuit-open": "its endpoint kept failing, and others had their turn before it",
  late: "it came back too late",
} as const;
export type Waited = keyof typeof WAITED;

/** The output that parks a delivery as it is; `notBeforeMs` is kept only where it lies beyond. */
export function scheduleRetry(
  delivery: Delivery,
  delayMs: number,
  notBeforeMs: number | null,
  nowMs: number,
): Output {
  const dueAtMs = nowMs + delayMs;
  const later = notBeforeMs !== null && notBeforeMs > dueAtMs ? notBeforeMs : null;
  return {
    kind: "retry",
    delayMs,
    delivery: { ...delivery, retryCount: delivery.retryCount + 1, dueAtMs, notBeforeMs: later },
  };
}

/** @param waited null: it was attempted when it was due, and the next attempt would be too late. */
export function expired(
  delivery: Delivery,
  { retryWindowMs }: RetryPolicy,
  waited: Waited | null,
): Output {
  const { attempt, lastOutcome } = delivery;
  const why = waited === null ? "" : `; it was due again, but ${WAITED[waited]}`;
  const last = lastOutcome === null ? "" : `; the last attempt: ${lastOutcome}`;
  return {
    kind: "dead-letter",
    reason: "expired",
    error: `not accepted within ${retryWindowMs / 1_000} s, attempts made: ${attempt}${why}${last}`,
    delivery,
    ...(waited === null ? {} : { waited }),
  };
}

export function allRejected(delivery: Delivery): Output {
  return {
    kind: "dead-letter",
    reason: "rejected",
    error: `every endpoint rejected it; the last attempt: ${delivery.lastOutcome ?? "none"}`,
    delivery,
  };
}
