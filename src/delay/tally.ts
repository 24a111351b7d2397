/**
 * Counts a destination's waiting deliveries, and keeps the earliest of their times. `NEVER` means that no delivery
 * has such a time.
 */

import type { Waiting } from "./due.ts";

export const NEVER = Number.POSITIVE_INFINITY;

export interface Times {
  readonly scheduledAtMs: number;
  readonly dueAtMs: number;
  /** The earliest first attempt of all of the deliveries. Retry windows are measured from first attempts. */
  readonly firstAttemptAtMs: number;
}

export type Tally = { -readonly [Key in keyof Times]: number } & { count: number };

/** Tallies by destination label. */
export type Tallies = Map<string, Tally>;

export function timesOf(waiting: Waiting): Times {
  const { scheduledAtMs } = waiting;
  if (waiting.kind === "invalid") return { scheduledAtMs, dueAtMs: NEVER, firstAttemptAtMs: NEVER };
  const { dueAtMs, firstAttemptAtMs } = waiting;
  return { scheduledAtMs, dueAtMs, firstAttemptAtMs: firstAttemptAtMs ?? NEVER };
}

/** Adds deliveries for one destination. Returns `true` if they are the first ones for this destination. */
export function addTo(tallies: Tallies, label: string, times: Times, count = 1): boolean {
  const tally = tallies.get(label);
  if (tally === undefined) {
    const { scheduledAtMs, dueAtMs, firstAttemptAtMs } = times;
    tallies.set(label, { count, scheduledAtMs, dueAtMs, firstAttemptAtMs });
    return true;
  }
  tally.count += count;
  tally.scheduledAtMs = Math.min(tally.scheduledAtMs, times.scheduledAtMs);
  tally.dueAtMs = Math.min(tally.dueAtMs, times.dueAtMs);
  tally.firstAttemptAtMs = Math.min(tally.firstAttemptAtMs, times.firstAttemptAtMs);
  return false;
}
