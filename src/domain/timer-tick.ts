/**
 * Aligns waits so that they end together. A wait that may last a little longer ends on the next tick of the clock, of
 * which there is one every 50 ms, so that writes of partitions, retry delays and destinations share requests to Kafka.
 * A request costs the process and the broker more than the few records that it contains.
 */

export const TICK_MS = 50;

/**
 * @param waitMs the minimum wait.
 * @returns milliseconds until the first tick after that; never less than `waitMs`.
 */
export function untilTickMs(nowMs: number, waitMs: number): number {
  return Math.ceil((nowMs + waitMs) / TICK_MS) * TICK_MS - nowMs;
}
