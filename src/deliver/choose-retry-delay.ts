/**
 * Chooses how long a delivery waits (docs/retries.md#retry-schedule). Attempts made choose the tier; the
 * last tier repeats. `asked` is what `Retry-After` wants: the attempt not before then.
 *
 *   after an attempt                                 wait
 *   the tier's delay ends past the window            none: expired
 *   nothing asked, or less than the tier's delay     the tier's delay
 *   asked for more                                   the first longer tier that covers it; the last tier, if none does
 *   ... and that tier ends past the window           the longest tier that ends within it
 *
 *   its own `Retry-After` is not over                wait
 *   a tier covers it within the window               the first such tier
 *   none does                                        the longest tier that ends within the window
 *   not even the shortest ends within it             none: attempt now, it is the last one that fits
 *
 *   without an attempt (the share of an endpoint     wait
 *   that is away)
 *   parked so many times                             the tier of that number, but none above 2 minutes
 *   ... and that tier ends past the window           the longest below it that ends within the window,
 *                                                    else the shortest
 *
 * A delivery that is asked to wait past the window so comes closer to its end step by step, and
 * gets its last attempt there. These steps keep a margin of it free: a record that returned
 * a little late would otherwise miss the attempt it waited for.
 */

/** So that an endpoint that is back has all of its share soon. */
const SHARE_DELAY_MAX_MS = 120_000;

export interface RetryPolicy {
  /** By attempts made; the last one repeats. At least one, never falling. */
  readonly retryDelaysMs: readonly number[];
  /** From the first attempt. */
  readonly retryWindowMs: number;
}

/**
 * The part of the window that is kept free. A record may come back late, or wait behind others of
 * its key that time out. It still gets the attempt it waited for.
 */
export function cutMarginMs({ retryWindowMs }: RetryPolicy): number {
  return Math.max(1_000, Math.min(retryWindowMs / 20, 20_000));
}

/**
 * The delay to park for after an attempt, or null when the next attempt would be past `endAtMs`.
 */
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
  const longer = reach(policy, Math.max(askedMs, delayMs), nowMs, endAtMs);
  return longer === null || longer < delayMs ? delayMs : longer;
}

/** The delay to park for until `askedMs` are over, or null when only an attempt now fits the window. */
export function delayUntil(
  policy: RetryPolicy,
  askedMs: number,
  nowMs: number,
  endAtMs: number,
): number | null {
  return reach(policy, askedMs, nowMs, endAtMs);
}

/** From then on no tier ends within the window: what goes out now is the last attempt that fits. */
export function lastAfterMs(policy: RetryPolicy, endAtMs: number): number {
  return endAtMs - cutMarginMs(policy) - retryDelayMs(policy, 0);
}

/** The delay of a retry of the share of an endpoint that is away for; `retryCount` retries were scheduled before. */
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

/** The tier of that number, from 0. */
function retryDelayMs({ retryDelaysMs }: RetryPolicy, delay: number): number {
  return retryDelaysMs[Math.min(delay, retryDelaysMs.length - 1)] ?? 0;
}

/** The first tier that covers `waitMs`, else the longest, as long as it ends within the window. */
function reach(policy: RetryPolicy, waitMs: number, nowMs: number, endAtMs: number): number | null {
  let best: number | null = null;
  for (const delayMs of policy.retryDelaysMs) {
    if (nowMs + delayMs > endAtMs - cutMarginMs(policy)) break;
    best = delayMs;
    if (delayMs >= waitMs) break;
  }
  return best;
}
