/**
 * Corrects the timestamp of a call if the clock of its device is wrong (docs/http-apis.md#the-devices-clock).
 *
 *   sentAt                                        the call's timestamp
 *   is absent or cannot be read                   stays as it was sent
 *   is at most 30 s from the time of receipt      stays as it was sent
 *   is more than 30 s from it, in either direction moves by that difference:
 *                                                 receivedAt - (sentAt - timestamp)
 *
 * A timestamp stays unchanged if it is absent, cannot be read, or would move outside the years 0 to 9999. If a
 * timestamp was moved, `originalTimestamp` is set to the device's time, as Segment does, unless the call already has
 * an `originalTimestamp` that can be read.
 */

import type { JsonObject } from "../domain/json.ts";
import { isoTimestamp, isWritable, readTimestamp } from "../domain/timestamp.ts";

/** Requests take less time than this, and clocks that are set over a network differ by less than this. */
const TOLERANCE_MS = 30_000;

/**
 * The number of milliseconds to add to times from the device; 0 if the device's clock is correct, or if its error is
 * unknown.
 */
export function clockOffsetMs(sentAt: unknown, receivedAtMs: number): number {
  const sentAtMs = readTimestamp(sentAt);
  if (sentAtMs === null) return 0;
  const offsetMs = receivedAtMs - sentAtMs;
  return Math.abs(offsetMs) > TOLERANCE_MS ? offsetMs : 0;
}

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
