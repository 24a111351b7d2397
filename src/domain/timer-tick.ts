/**
 * Waits that end together. Work that may wait a little longer ends on the next tick of the clock,
 * one in 50 ms. So the writes of partitions, tiers and destinations share requests to Kafka. A
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
