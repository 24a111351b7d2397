/**
 * Sets the times of a call right whose device has a wrong clock (docs/ingest.md#the-devices-clock).
 *
 *   sentAt                                        the call's timestamp
 *   is absent, or cannot be read                  stays as it was sent
 *   is at most 30 s from the time of receipt      stays as it was sent
 *   is further from it, ahead or behind           moves by that difference:
 *                                                 receivedAt - (sentAt - timestamp)
 *
 * A timestamp that is absent, or cannot be read, stays so. One that would leave the years 0 to 9999
 * stays as it was sent. As with Segment, `originalTimestamp` keeps the device's time of a call that
 * was moved; one that the call has already, and that can be read, stays.
 */

import type { JsonObject } from "../domain/json.ts";
import { isoTimestamp, isWritable, readTimestamp } from "../domain/timestamp.ts";

/** Requests take some time, and clocks that are set by a network are not further off. */
const TOLERANCE_MS = 30_000;

/** Milliseconds to add to times of the device; 0: its clock is right, or nothing is known of it. */
export function clockOffsetMs(sentAt: unknown, receivedAtMs: number): number {
  const sentAtMs = readTimestamp(sentAt);
  if (sentAtMs === null) return 0;
  const offsetMs = receivedAtMs - sentAtMs;
  return Math.abs(offsetMs) > TOLERANCE_MS ? offsetMs : 0;
}

/** The members of a call that change. */
export function correctedTimes(call: JsonObject, offsetMs: number): JsonObject {
  const timestampMs = readTimestamp(call.timestamp);
  if (offsetMs === 0 || timestampMs === null) return UNCHANGED;
  const correctedMs = timestampMs + offsetMs;
  if (!isWritable(correctedMs)) return UNCHANGED;
  const isKept = readTimestamp(call.originalTimestamp) !== null;
  const originalTimestamp = isKept ? call.originalTimestamp : call.timestamp;
  return { timestamp: isoTimestamp(correctedMs), originalTimestamp };
}

const UNCHANGED: JsonObject = {};
