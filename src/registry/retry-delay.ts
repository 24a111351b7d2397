const FIRST_MS = 100;
const LONGEST_MS = 10_000;
const DOUBLINGS_MAX = 10;

/**
 * The wait before a schema is asked for again.
 *
 * @param failures look-ups of it that got no answer, before the last one.
 * @param chance from 0 to below 1: takes up to half away, so that processes do not ask together.
 */
export function retryDelayMs(failures: number, chance: number): number {
  const wholeMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, DOUBLINGS_MAX));
  return wholeMs * (1 - chance / 2);
}
