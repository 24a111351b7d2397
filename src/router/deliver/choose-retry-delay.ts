/**
 * Chooses the retry delay of a delivery (docs/retries.md#retry-schedule). The number of attempts selects one of the
 * configured delays; later attempts use the last delay. `asked` is the wait that `Retry-After` requires.
 *
 *   after an attempt                                     delay
 *   the selected delay would end after the window        none: the delivery expires
 *   `asked` is 0, or at most the selected delay          the selected delay
 *   `asked` is longer                                    the first delay that covers it, otherwise the last one
 *   ... and that delay would end after the window        the longest delay that ends within the window
 *
 *   before an attempt, during the Retry-After time       delay
 *   a delay that ends within the window covers it        the first such delay
 *   no such delay covers it                              the longest delay that ends within the window
 *   every delay would end after the window               none: attempt now, because no later attempt fits
 *
 *   the only endpoints that have not accepted it are     delay
 *   unavailable
 *   n retries have been scheduled already                delay n + 1, but at most 2 minutes
 *   ... and that delay would end after the window        the longest delay that ends within the window, or the
 *                                                        shortest of all if none does
 *
 * If the `Retry-After` time of a delivery ends after its window, the delivery thus approaches the end of the
 * window step by step, and its last attempt is made there. The steps end a margin before the end of the
 * window: without this margin, a record that is returned a little late would miss the last attempt.
 */

/** Short, so that an endpoint gets its deliveries within 2 minutes after it works again. */
const SHARE_DELAY_MAX_MS = 120_000;

export interface RetryPolicy {
  /** The delay after each number of attempts, in ascending order; at least one. Later attempts use the last delay. */
  readonly retryDelaysMs: readonly number[];
  /** Measured from the first attempt; at most 4 h. */
  readonly retryWindowMs: number;
}

/**
 * How long before the end of the window the last attempt is planned. The margin is for records that are
 * returned late, and for records that wait while deliveries with the same key time out.
 */
export function cutMarginMs({ retryWindowMs }: RetryPolicy): number {
  return Math.max(1_000, Math.min(retryWindowMs / 20, 20_000));
}

/** The retry delay after an attempt, or null if the next attempt would be later than `endAtMs`. */
export function delayAfterAttempt(
  policy: RetryPolicy,
  attempts: number,
  askedMs: number,
  nowMs: number,
  endAtMs: number,
): number | null {
  const delayMs = retryDelayMs(policy, attempts - 1);
  if (nowMs + delayMs > endAtMs) return null;
  if (askedMs <= delayMs) return delayMs;
  const longer = delayUntil(policy, Math.max(askedMs, delayMs), nowMs, endAtMs);
  return longer === null || longer < delayMs ? delayMs : longer;
}

/**
 * The last moment at which a retry delay can start and still end within the window. An attempt after this
 * moment is the last one.
 */
export function lastAfterMs(policy: RetryPolicy, endAtMs: number): number {
  return endAtMs - cutMarginMs(policy) - retryDelayMs(policy, 0);
}

/** The retry delay of a delivery for one unavailable endpoint, after `retryCount` scheduled retries. */
export function delayOfShare(
  policy: RetryPolicy,
  retryCount: number,
  nowMs: number,
  endAtMs: number,
): number {
  const wantedMs = Math.min(retryDelayMs(policy, retryCount), SHARE_DELAY_MAX_MS);
  const fitting = policy.retryDelaysMs.filter(
    (delayMs) => delayMs <= wantedMs && nowMs + delayMs <= endAtMs,
  );
  return fitting.at(-1) ?? retryDelayMs(policy, 0);
}

function retryDelayMs({ retryDelaysMs }: RetryPolicy, delay: number): number {
  return retryDelaysMs[Math.min(delay, retryDelaysMs.length - 1)] ?? 0;
}

/**
 * The first delay that covers `waitMs`; if there is none, the longest one that ends within the window. Null if only an
 * immediate attempt fits the window.
 */
export function delayUntil(
  policy: RetryPolicy,
  waitMs: number,
  nowMs: number,
  endAtMs: number,
): number | null {
  let best: number | null = null;
  for (const delayMs of policy.retryDelaysMs) {
    if (nowMs + delayMs > endAtMs - cutMarginMs(policy)) break;
    best = delayMs;
    if (delayMs >= waitMs) break;
  }
  return best;
}
