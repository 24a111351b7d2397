/** Repeats a request until it succeeds. */

import type { Clock } from "./clock.ts";

const AGAIN_MS = 1_000;

/** Asks once a second until there is an answer. Resolves with null if the signal aborts before that. Never rejects. */
export async function untilAnswered<Answer>(
  ask: () => Promise<Answer>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Answer | null> {
  while (!signal.aborted) {
    try {
      return await ask();
    } catch {
      await clock.sleep(AGAIN_MS, signal).catch(() => undefined);
    }
  }
  return null;
}
