/**
 * Aligns waits so that they end together. The clock ticks every 50 ms, and a wait that may last a little longer ends on
 * the next tick, so that writes of partitions, retry delays and destinations share requests to Kafka. A request costs
 * the process and the broker more than the few records that it contains.
 */

export const TICK_MS = 50;

/**
 * @param waitMs the minimum wait.
 * @returns milliseconds until the first tick after that; never less than `waitMs`.
 */
export function untilTickMs(nowMs: number, waitMs: number): number {
  return Math.ceil((nowMs + waitMs) / TICK_MS) * TICK_MS - nowMs;
}
