/**
 * Decides what a pause that somebody asks for means beside the one that is in force. Pure.
 *
 *   in force            asked for                 then
 *   none                no end                    paused until it is resumed
 *   none                for 2 h                   paused until then
 *   until T             no end                    it stays paused until T: nothing is written
 *   until T             for 2 h                   paused until then, whether that is before or after T
 *   until T             until it is resumed       paused until it is resumed
 *   without an end      no end, until resumed     it stays so: nothing is written
 *   without an end      for 2 h                   paused until then
 *
 * The destination has been paused since the first of them.
 */

import type { Pause } from "../../control/operator-actions.ts";
import { instantText } from "../connect/instant.ts";

export interface AskedPause {
  /** Null: no end was named. */
  readonly forMs: number | null;
  /** Whether somebody said that it has no end. */
  readonly untilResumed: boolean;
}

export interface Paused {
  /** In force until now; null: none. */
  readonly before: Pause | null;
  /** In force from now on. The same object: nothing is to be written. */
  readonly pause: Pause;
}

/** @param now the pause as it would be if none were in force. */
export function pausedBy(before: Pause | null, asked: AskedPause, now: Pause): Paused {
  if (before === null) return { before, pause: now };
  const keepsEnd = asked.forMs === null && !asked.untilResumed;
  if (keepsEnd || before.untilMs === now.untilMs) return { before, pause: before };
  return { before, pause: { ...now, sinceMs: before.sinceMs } };
}

/** For people: one line. */
export function pausedSentence({ before, pause }: Paused): string {
  const { destination, by, sinceMs, untilMs } = pause;
  const ends = `\`switchyard resume ${destination}\` ends it.`;
  if (before === pause) {
    const since = `It has been paused by ${by} since ${instantText(sinceMs)} UTC`;
    const other =
      untilMs === null ? "--for sets an end." : "--for sets another end, --until-resumed none.";
    return `Paused already: ${destination}${endText(pause)}. ${since}, and stays so: ${other} ${ends}`;
  }
  const was = before === null ? "" : ` It was paused by ${before.by}${endText(before)} before.`;
  return `Paused: ${destination}${endText(pause)}.${was} ${ends}`;
}

function endText({ untilMs }: Pause): string {
  return untilMs === null ? " until it is resumed" : ` until ${instantText(untilMs)} UTC`;
}

/** For programs; null: none. */
export function pauseJson(pause: Pause | null): object | null {
  if (pause === null) return null;
  const { by, sinceMs, untilMs } = pause;
  const until = untilMs === null ? null : new Date(untilMs).toISOString();
  return { since: new Date(sinceMs).toISOString(), by, until };
}
