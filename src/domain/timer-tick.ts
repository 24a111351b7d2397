/**
 * Aligns waits so that they end together, on ticks that are 50 ms apart. After such waits, writes for several
 * partitions, retry delays and destinations share requests to Kafka. A request costs the process and the broker more
 * than the few records that it contains.
 */

export const TICK_MS = 50;

/**
 * @param waitMs the minimum wait.
 * @returns the number of milliseconds until the first tick at which the wait is over; never less than `waitMs`.
 */
export function untilTickMs(nowMs: number, waitMs: number): number {
  return Math.ceil((nowMs + waitMs) / TICK_MS) * TICK_MS - nowMs;
}
