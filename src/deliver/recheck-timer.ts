/** Looks again when a held line may go: once for each time, however often it is asked for. */

import type { WorkPorts } from "./work-ports.ts";

/** A longer wait for an endpoint is looked at again then, in case the clock was set. */
const LOOK_AGAIN_MAX_MS = 60_000;

/** @returns to be called with the time until which the line is held. */
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
      // A timer may be early by the clock that is asked: then this is called again.
      nextMs = Number.NEGATIVE_INFINITY;
      look();
    });
  };
}
