/**
 * Decides how far the headers of a delivery are trusted. Anyone who can write to a destination's topics can put any value in
 * them, which must not affect other destinations.
 *
 *   header                                        counts as
 *   a destination other than the topic's          the topic's
 *   a first attempt in the future                 now
 *   a not-before later than the retry window      the window, from now
 *
 * Other fields are bounded where they are parsed (`domain/delivery.ts`). Stages write the sanitized values back, so no later
 * stage sees the original ones.
 */

import type { Delivery } from "../domain/delivery.ts";
import type { DestinationId } from "../domain/ids.ts";

/** @param topicOf the destination whose topic contains the record. */
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
