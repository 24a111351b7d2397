/** The wait before try `failures + 1` of a request. */
export function retryDelayMs(failures: number): number {
  return Math.min(2_000, 50 * 2 ** Math.min(failures, 10));
}
