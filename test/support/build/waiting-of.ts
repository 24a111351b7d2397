/** A record of a delay topic in the form in which the delay stage has read it. */

import type { DestinationId } from "../../../src/domain/ids.ts";
import type { DelayedRecord } from "../../../src/router/delay/due.ts";

interface Given {
  readonly offset?: number;
  readonly scheduledAtMs?: number;
  readonly dueAtMs?: number;
  readonly firstAttemptAtMs?: number | null;
}

export function waitingOf(destination: string, given: Given = {}): DelayedRecord {
  const { offset = 0, scheduledAtMs = 0, dueAtMs = 0, firstAttemptAtMs = null } = given;
  return {
    kind: "waiting",
    record: recordAt(offset),
    scheduledAtMs,
    dueAtMs,
    destination: destination as DestinationId,
    receivedAtMs: scheduledAtMs,
    firstAttemptAtMs,
    topics: [`sw.retries.${destination}`],
  };
}

/** A record without a header that is required. */
export function invalidAt(offset: number, scheduledAtMs: number): DelayedRecord {
  return { kind: "invalid", record: recordAt(offset), scheduledAtMs, error: "a header is missing" };
}

function recordAt(offset: number) {
  const place = { topic: "sw.delays.10m", partition: 0, offset };
  return { ...place, timestampMs: 0, key: null, value: null, headers: [] };
}
