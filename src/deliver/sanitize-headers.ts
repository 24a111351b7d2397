/**
 * Decides how far the headers of a delivery are believed. Somebody who may write to a destination's
 * topics can say anything in them, and must not reach further than this destination.
 *
 *   header                                       counts as
 *   a destination other than the topic's         the topic's
 *   a first attempt in the future                now
 *   a not-before further ahead than the window   the window from now
 *
 * Other fields are bounded where they are read (`domain/delivery.ts`). Stages write back the fields
 * as they count, so that no later stage meets the others.
 */

import type { Delivery } from "../domain/delivery.ts";
import type { DestinationId } from "../domain/ids.ts";

/** @param topicOf the destination whose topic the record stands on. */
export function sanitizeHeaders(
  delivery: Delivery,
  topicOf: DestinationId,
  retryWindowMs: number,
  nowMs: number,
): Delivery {
  const firstAttemptAtMs = atMost(delivery.firstAttemptAtMs, nowMs);
  const notBeforeMs = atMost(delivery.notBeforeMs, nowMs + retryWindowMs);
  const isBelieved =
    delivery.destination === topicOf &&
    firstAttemptAtMs === delivery.firstAttemptAtMs &&
    notBeforeMs === delivery.notBeforeMs;
  if (isBelieved) return delivery;
  return { ...delivery, destination: topicOf, firstAttemptAtMs, notBeforeMs };
}

function atMost(instantMs: number | null, limitMs: number): number | null {
  return instantMs === null ? null : Math.min(instantMs, limitMs);
}
