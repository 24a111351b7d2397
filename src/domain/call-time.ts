/**
 * Determines the time of a call, and the time at which it was received (docs/calls.md#timestamps). The first row
 * whose fields can all be read applies; a timestamp that cannot be read counts as absent.
 *
 *   present                                     the call's time
 *   timestamp                                   timestamp, as it was sent
 *   originalTimestamp, sentAt and receivedAt    receivedAt - (sentAt - originalTimestamp): corrects
 *                                               the device's clock
 *   originalTimestamp                           originalTimestamp
 *   receivedAt                                  receivedAt
 *   none of these                               the record's time
 *
 * The call was received at receivedAt or, if that is absent, at the record's time.
 */

import type { CallFields } from "./call.ts";
import { isWritable, readTimestamp } from "./timestamp.ts";

export interface CallTimes {
  readonly timestampMs: number;
  readonly receivedAtMs: number;
}

type GivenTimes = Pick<CallFields, "timestamp" | "originalTimestamp" | "sentAt" | "receivedAt">;

/** @param recordAtMs the time of the record on `calls`, as `usableRecordTime` returns it. */
export function callTimes(call: GivenTimes, recordAtMs: number): CallTimes {
  const givenReceivedAtMs = readTimestamp(call.receivedAt);
  const receivedAtMs = givenReceivedAtMs ?? recordAtMs;
  const timestampMs =
    readTimestamp(call.timestamp) ?? deviceTime(call, givenReceivedAtMs) ?? receivedAtMs;
  return { timestampMs, receivedAtMs };
}

function deviceTime(call: GivenTimes, receivedAtMs: number | null): number | null {
  const originalMs = readTimestamp(call.originalTimestamp);
  if (originalMs === null || receivedAtMs === null) return originalMs;
  const sentAtMs = readTimestamp(call.sentAt);
  if (sentAtMs === null) return originalMs;
  const correctedMs = receivedAtMs - (sentAtMs - originalMs);
  return isWritable(correctedMs) ? correctedMs : originalMs;
}

/**
 * Returns the record's time if it is plausible, and otherwise the current time, because producers may write any number
 * as the timestamp, such as microseconds or -1.
 */
export function usableRecordTime(recordAtMs: number, nowMs: number): number {
  return recordAtMs > 0 && isWritable(recordAtMs) ? recordAtMs : nowMs;
}
