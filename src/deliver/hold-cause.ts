/**
 * Why nothing of a destination is attempted, whatever its endpoints. Configuration and command count
 * together: it is paused if either says so.
 *
 *   configuration    command   nothing is attempted,   by                         since     until
 *                              because
 *   enabled: false   any       disabled                -                          known     somebody ends it
 *   paused: true     none      paused                  configuration              known     somebody ends it
 *   paused: true     paused    paused                  configuration and command  command   somebody ends it
 *   neither          paused    paused                  command                    command   command
 *   neither          none      it is attempted
 *
 * The configuration says no times: since means since when it is known here.
 */

import type { Pause } from "../control/operator-actions.ts";
import type { AttemptedDestination } from "../domain/destination.ts";

export interface HoldCause {
  readonly reason: "paused" | "disabled";
  readonly sinceMs: number;
  /** Null: somebody has to end it. */
  readonly untilMs: number | null;
  /** Absent: it is disabled. */
  readonly by?: string;
}

const FILE = "configuration";

/**
 * @param configured without what commands ask for.
 * @param before as it was until now.
 */
export function stillnessOf(
  { enabled, paused }: Pick<AttemptedDestination, "enabled" | "paused">,
  pause: Pause | null,
  before: HoldCause | null,
  nowMs: number,
): HoldCause | null {
  if (!enabled) {
    const sinceMs = before?.reason === "disabled" ? before.sinceMs : nowMs;
    return { reason: "disabled", sinceMs, untilMs: null };
  }
  if (pause === null && !paused) return null;
  if (pause === null) {
    const sinceMs = before?.reason === "paused" ? before.sinceMs : nowMs;
    return { reason: "paused", sinceMs, untilMs: null, by: FILE };
  }
  const { sinceMs, untilMs, by } = pause;
  if (paused) return { reason: "paused", sinceMs, untilMs: null, by: `${FILE} and ${by}` };
  return { reason: "paused", sinceMs, untilMs, by };
}

/** Authors of a pause as a metric has them: people can name themselves as they like. */
export const PAUSED_BY = ["configuration", "operation"] as const;

export function pausedBy(still: HoldCause | null): readonly (typeof PAUSED_BY)[number][] {
  if (still?.by === undefined) return [];
  const byFile = still.by === FILE || still.by.startsWith(`${FILE} and `);
  const byOthers = still.by !== FILE;
  return [...(byFile ? [PAUSED_BY[0]] : []), ...(byOthers ? [PAUSED_BY[1]] : [])];
}

/** The settings that the work goes by. */
export function controlled(
  configured: AttemptedDestination,
  pause: Pause | null,
): AttemptedDestination {
  return pause === null || configured.paused ? configured : { ...configured, paused: true };
}
