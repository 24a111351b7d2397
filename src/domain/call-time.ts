/**
 * Determines the time of a call, and the time at which it was received (docs/calls.md#timestamps). The first row
 * whose fields can all be read applies; a timestamp that cannot be read counts as absent, and is reported.
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

const TIME_FIELDS = ["timestamp", "originalTimestamp", "sentAt", "receivedAt"] as const;
export type TimeField = (typeof TIME_FIELDS)[number];

export interface CallTimes {
  readonly timestampMs: number;
  readonly receivedAtMs: number;
  /** The first field that is present but cannot be read; null if there is none, or if `timestamp` can be read. */
  readonly unread: TimeField | null;
}

type GivenTimes = Pick<CallFields, TimeField>;

/** @param recordAtMs the time of the record on `calls`, as `usableRecordTime` returns it. */
export function callTimes(call: GivenTimes, recordAtMs: number): CallTimes {
  const givenReceivedAtMs = readTimestamp(call.receivedAt);
  const receivedAtMs = givenReceivedAtMs ?? recordAtMs;
  const ownMs = readTimestamp(call.timestamp);
  if (ownMs !== null) return { timestampMs: ownMs, receivedAtMs, unread: null };
  const timestampMs = deviceTime(call, givenReceivedAtMs) ?? receivedAtMs;
  return {
    timestampMs,
    receivedAtMs,
    unread: TIME_FIELDS.find((field) => isUnread(call[field])) ?? null,
  };
}

function isUnread(given: unknown): boolean {
  return given !== undefined && given !== null && given !== "" && readTimestamp(given) === null;
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
