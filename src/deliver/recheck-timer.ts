/** Checks again when a hold ends: once per time, however often it is requested. */

import type { WorkPorts } from "./work-ports.ts";

/** A longer wait is checked at this interval, in case the clock was changed. */
const LOOK_AGAIN_MAX_MS = 60_000;

/** @returns a function to call with the end of the hold. */
export function lookingAgain(
  ports: Pick<WorkPorts, "nowMs" | "after">,
  look: () => void,
): (untilMs: number) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (untilMs) => {
    const nowMs = ports.nowMs();
    const atMs = Math.min(untilMs, nowMs + LOOK_AGAIN_MAX_MS);
    if (nextMs > nowMs && nextMs <= atMs) return;
    nextMs = atMs;
    ports.after(atMs - nowMs, () => {
      // The timer may fire early by this clock; then this is called again.
      nextMs = Number.NEGATIVE_INFINITY;
      look();
    });
  };
}
