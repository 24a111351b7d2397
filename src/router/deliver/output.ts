/**
 * Describes the records that replace a delivery which was not accepted: it is scheduled for retry, or is
 * dead-lettered because it expired or was rejected.
 *
 *   output      the delivery                                its sentence
 *   scheduled   one more retry; due after the delay;        -
 *               not-before only if it is later than that
 *   expired     unchanged                                   the retry window, the attempts made, why it was not
 *                                                           attempted when due, the last response
 *   rejected    unchanged                                   the last response
 *   by all
 */

import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import type { Delivery } from "../../domain/delivery.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";

/** A record to write instead of the delivery's own. */
export type Output =
  | { readonly kind: "retry"; readonly delayMs: number; readonly delivery: Delivery }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      /** One sentence. */
      readonly error: string;
      readonly delivery: Delivery;
      /** Set if the retry window ended while the delivery was due but not attempted. */
      readonly waited?: Waited;
    };

/** Why a due delivery was not attempted. */
const WAITED = {
  paused: "the destination was paused",
  disabled: "the destination was disabled",
  token: "no token could be obtained",
  "retry-after": "the endpoint had sent Retry-After",
  "circuit-open": "the endpoint kept failing, and other deliveries were attempted first",
  late: "the delivery was returned too late",
} as const;
export type Waited = keyof typeof WAITED;

/** Schedules a retry of the delivery; `notBeforeMs` is kept only if it is later than the end of the delay. */
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

/** @param waited null if the delivery was attempted when due, but the next attempt would be too late. */
export function expired(
  delivery: Delivery,
  { retryWindowMs }: RetryPolicy,
  waited: Waited | null,
): Output {
  const { attempt, lastOutcome } = delivery;
  const why = waited === null ? "" : `; the next attempt was due, but ${WAITED[waited]}`;
  const attempts = attempt === 1 ? "1 attempt" : `${attempt} attempts`;
  const last = lastOutcome === null ? "" : `; the last attempt: ${lastOutcome}`;
  return {
    kind: "dead-letter",
    reason: "expired",
    error: `not accepted within ${retryWindowMs / 1_000} s, in ${attempts}${why}${last}`,
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
