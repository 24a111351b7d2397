/**
 * Aligns waits so that they end together. Work that may wait a little longer ends on the next tick of the clock,
 * every 50 ms, so that writes of partitions, retry delays and destinations share requests to Kafka. A
 * request costs the process and the broker more than the few records in it.
 */

export const TICK_MS = 50;

/**
 * @param waitMs the minimum wait.
 * @returns milliseconds until the first tick after that; never less than `waitMs`.
 */
export function untilTickMs(nowMs: number, waitMs: number): number {
  return Math.ceil((nowMs + waitMs) / TICK_MS) * TICK_MS - nowMs;
}
