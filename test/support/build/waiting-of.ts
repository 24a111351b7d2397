/** A record of a delay topic as the delay stage has read it. */

import type { Waiting } from "../../../src/delay/due.ts";
import type { DestinationId } from "../../../src/domain/ids.ts";

interface Given {
  readonly offset?: number;
  readonly parkedAtMs?: number;
  readonly dueAtMs?: number;
  readonly firstAttemptAtMs?: number | null;
}

export function waitingOf(destination: string, given: Given = {}): Waiting {
  const { offset = 0, parkedAtMs = 0, dueAtMs = 0, firstAttemptAtMs = null } = given;
  return {
    kind: "waiting",
    record: recordAt(offset),
    parkedAtMs,
    dueAtMs,
    destination: destination as DestinationId,
    receivedAtMs: parkedAtMs,
    firstAttemptAtMs,
    topics: [`sw.retries.${destination}`],
  };
}

/** One that lacks a header. */
export function invalidAt(offset: number, parkedAtMs: number): Waiting {
  return { kind: "invalid", record: recordAt(offset), parkedAtMs, error: "a header is missing" };
}

function recordAt(offset: number) {
  const place = { topic: "sw.delays.10m", partition: 0, offset };
  return { ...place, timestampMs: 0, key: null, value: null, headers: [] };
}
