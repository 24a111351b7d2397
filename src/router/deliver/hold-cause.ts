/**
 * Why a destination is on hold regardless of its endpoints. Configuration and commands are combined: the destination is
 * paused if either pauses it.
 *
 *   configuration    command   on hold because   by                          since     until
 *   enabled: false   any       disabled          -                           read      an operator ends it
 *   paused: true     none      paused            configuration               read      an operator ends it
 *   paused: true     paused    paused            configuration and command   command   an operator ends it
 *   neither          paused    paused            command                     command   command
 *   neither          none      not on hold
 *
 * The configuration contains no times, so *read* is the time at which this process first read the setting.
 */

import type { AttemptedDestination } from "../../domain/destination.ts";
import type { Pause } from "../control/operator-actions.ts";

/** Why these settings put the destination on hold; null if they do not. */
export function holdCause({ paused, enabled }: AttemptedDestination): HoldCause["reason"] | null {
  if (!enabled) return "disabled";
  return paused ? "paused" : null;
}

export interface HoldCause {
  readonly reason: "paused" | "disabled";
  readonly sinceMs: number;
  /** When the pause ends, or when the first endpoint is available; null if an operator has to end the hold. */
  readonly untilMs: number | null;
  /** For a pause, its author, such as `command`; absent for other reasons. */
  readonly by?: string;
}

const FILE = "configuration";

/**
 * @param configured the settings from the configuration, without commands.
 * @param before the previous cause.
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

/** The settings to apply: the configured ones, combined with pauses by commands. */
export function controlled(
  configured: AttemptedDestination,
  pause: Pause | null,
): AttemptedDestination {
  return pause === null || configured.paused ? configured : { ...configured, paused: true };
}
