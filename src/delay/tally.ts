/**
 * The number of a destination's deliveries that wait, and the earliest of their times. `NEVER` stands
 * for a time that none of them has.
 */

import type { Waiting } from "./due.ts";

export const NEVER = Number.POSITIVE_INFINITY;

export interface Times {
  readonly scheduledAtMs: number;
  readonly dueAtMs: number;
  /** The first attempt of one that was attempted. Its window begins there. */
  readonly firstAttemptAtMs: number;
}

export type Tally = { -readonly [Key in keyof Times]: number } & { count: number };

/** By destination, as labels name it. */
export type Tallies = Map<string, Tally>;

export function timesOf(waiting: Waiting): Times {
  const { scheduledAtMs } = waiting;
  if (waiting.kind === "invalid") return { scheduledAtMs, dueAtMs: NEVER, firstAttemptAtMs: NEVER };
  const { dueAtMs, firstAttemptAtMs } = waiting;
  return { scheduledAtMs, dueAtMs, firstAttemptAtMs: firstAttemptAtMs ?? NEVER };
}

/** Adds deliveries of one destination. True when they are the first of theirs. */
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
