/**
 * Waits that end together. Whoever may wait a little longer ends on the next tick of the clock, one
 * in 50 ms: what partitions, tiers and destinations have to write then shares requests to Kafka. A
 * request costs the process and its broker more than the few records that are in it.
 */

export const TICK_MS = 50;

/**
 * @param waitMs at least so long.
 * @returns milliseconds until the first tick after that; never less than `waitMs`.
 */
export function untilTickMs(nowMs: number, waitMs: number): number {
  return Math.ceil((nowMs + waitMs) / TICK_MS) * TICK_MS - nowMs;
}
