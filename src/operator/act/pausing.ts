/**
 * Decides how a request for a pause changes the current pause. Pure.
 *
 *   in force            requested                 result
 *   none                no end                    paused until it is resumed
 *   none                for 2 h                   paused for 2 h
 *   until T             no end                    stays paused until T; nothing is written
 *   until T             for 2 h                   paused for 2 h from now, even if that ends before T
 *   until T             until it is resumed       paused until it is resumed
 *   without an end      no end, until resumed     stays paused; nothing is written
 *   without an end      for 2 h                   paused for 2 h from now
 *
 * If a pause replaces another one, it keeps the start of that pause.
 */

import type { Pause } from "../../router/control/operator-actions.ts";
import { instantText } from "../connect/instant.ts";

export interface AskedPause {
  /** Null if no end was requested. */
  readonly forMs: number | null;
  /** True if the operator asked for a pause without an end. */
  readonly untilResumed: boolean;
}

export interface Paused {
  /** The pause before this request; null if there was none. */
  readonly before: Pause | null;
  /** The pause after this request. If it is the same object as `before`, nothing has to be written. */
  readonly pause: Pause;
}

/** @param now the pause that the request would cause if the destination were not paused. */
export function pausedBy(before: Pause | null, asked: AskedPause, now: Pause): Paused {
  if (before === null) return { before, pause: now };
  const keepsEnd = asked.forMs === null && !asked.untilResumed;
  if (keepsEnd || before.untilMs === now.untilMs) return { before, pause: before };
  return { before, pause: { ...now, sinceMs: before.sinceMs } };
}

/** One line for operators. */
export function pausedSentence({ before, pause }: Paused): string {
  const { destination, by, sinceMs, untilMs } = pause;
  const ends = `Run \`switchyard resume ${destination}\` to end the pause.`;
  if (before === pause) {
    const since = `It has been paused by ${by} since ${instantText(sinceMs)} UTC`;
    const other =
      untilMs === null
        ? "Use --for to set an end."
        : "Use --for to change the end, or --until-resumed to remove it.";
    return `Already paused: ${destination}${endText(pause)}. ${since}. ${other} ${ends}`;
  }
  const was =
    before === null ? "" : ` Previously, it was paused by ${before.by}${endText(before)}.`;
  return `Paused: ${destination}${endText(pause)}.${was} ${ends}`;
}

function endText({ untilMs }: Pause): string {
  return untilMs === null ? " until it is resumed" : ` until ${instantText(untilMs)} UTC`;
}

/** The pause as JSON; null if there is none. */
export function pauseJson(pause: Pause | null): object | null {
  if (pause === null) return null;
  const { by, sinceMs, untilMs } = pause;
  const until = untilMs === null ? null : new Date(untilMs).toISOString();
  return { since: new Date(sinceMs).toISOString(), by, until };
}
