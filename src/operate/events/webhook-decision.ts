/**
 * Decides whether an event is posted to the operator webhook, skipped, or posted again.
 *
 *   an event                                     result
 *   has no value, or is not an operator event    skipped
 *   was written more than a day ago              skipped and counted, because it is no longer useful
 *   any other                                    posted
 *
 *   its request                                  result
 *   is accepted                                  the next event is posted
 *   is rejected                                  skipped and logged, because the response would not change
 *   gets no response, or one that is retried     posted again after 5 s, then 10 s, 20 s, ... at most 5 min, and not before
 *                                                `Retry-After`; later events wait
 */

import type { IncomingRecord } from "../../domain/record.ts";
import { type OperatorEvent, readEvent } from "./event.ts";

/** The result of a request, classified as in the deliver stage. */
export type Posted =
  | { readonly kind: "accepted" }
  | { readonly kind: "rejected"; readonly cause: string }
  | { readonly kind: "retry"; readonly cause: string; readonly retryAfterMs: number | null };

export type Task =
  | { readonly kind: "post"; readonly event: OperatorEvent; readonly text: string }
  | { readonly kind: "too-old"; readonly event: OperatorEvent }
  | { readonly kind: "none" };

const AGE_MAX_MS = 86_400_000;
const WAIT_MIN_MS = 5_000;
const WAIT_MAX_MS = 300_000;
/** A longer `Retry-After` is shortened to this, because events are not useful after a day. */
const RETRY_AFTER_MAX_MS = 3_600_000;

export function taskOf(
  { value, timestampMs }: Pick<IncomingRecord, "value" | "timestampMs">,
  nowMs: number,
): Task {
  const event = value === null ? null : readEvent(value);
  if (value === null || event === null) return { kind: "none" };
  if (timestampMs > 0 && nowMs - timestampMs > AGE_MAX_MS) return { kind: "too-old", event };
  return { kind: "post", event, text: value.toString() };
}

/** @param tries the number of requests for the event so far, at least 1. */
export function waitBefore(tries: number, retryAfterMs: number | null): number {
  const ownMs = Math.min(WAIT_MAX_MS, WAIT_MIN_MS * 2 ** Math.min(tries - 1, 20));
  return Math.max(ownMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
}
