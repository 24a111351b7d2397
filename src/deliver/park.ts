/**
 * Chooses how long a delivery waits (SPEC section 8.6). Times parked choose the tier; the last
 * tier repeats. `asked` is what `Retry-After` or a closed gate wants: the attempt not before then.
 *
 *   after an attempt                                 wait
 *   the tier's delay ends past the window            none: expired
 *   nothing asked, or less than the tier's delay     the tier's delay
 *   asked for more                                   the first longer tier that covers it; the last tier, if none does
 *   ... and that tier ends past the window           the longest tier that ends within it
 *
 *   without an attempt (asked for later)             wait
 *   a tier covers it within the window               the first such tier
 *   none does                                        the longest tier that ends within the window
 *   not even the shortest ends within it             none: attempt now, it is the last one that fits
 *
 * A delivery that is asked to wait past the window so comes closer to its end step by step, and
 * gets its last attempt there. These steps keep a margin of it free: a record that returned
 * a little late would otherwise miss the attempt it waited for.
 */

export interface RetryPolicy {
  /** By times parked; the last one repeats. At least one, never falling. */
  readonly delaysMs: readonly number[];
  /** From the first attempt or first parking. */
  readonly windowMs: number;
}

/**
 * What is kept free of the window, so that a record that comes back late, or has to wait behind
 * others of its key that time out, still gets the attempt it waited for.
 */
export function cutMarginMs({ windowMs }: RetryPolicy): number {
  return Math.max(1_000, Math.min(windowMs / 20, 20_000));
}

/** The delay to park for after an attempt, or null when the next attempt would be past `endAtMs`. */
export function delayAfterAttempt(
  policy: RetryPolicy,
  parked: number,
  askedMs: number,
  nowMs: number,
  endAtMs: number,
): number | null {
  const tierMs = tierDelay(policy, parked);
  if (nowMs + tierMs > endAtMs) return null;
  if (askedMs <= tierMs) return tierMs;
  const longer = reach(policy, Math.max(askedMs, tierMs), nowMs, endAtMs);
  return longer === null || longer < tierMs ? tierMs : longer;
}

/** The delay to park for without an attempt, or null when only an attempt now fits the window. */
export function delayWithoutAttempt(
  policy: RetryPolicy,
  askedMs: number,
  nowMs: number,
  endAtMs: number,
): number | null {
  return reach(policy, askedMs, nowMs, endAtMs);
}

/** From then on no tier ends within the window: what goes out now is the last attempt that fits. */
export function lastAfterMs(policy: RetryPolicy, endAtMs: number): number {
  return endAtMs - cutMarginMs(policy) - tierDelay(policy, 0);
}

/** The longest tier up to `wantedMs` that ends within the window, else the shortest. */
export function delayWithin(
  policy: RetryPolicy,
  wantedMs: number,
  nowMs: number,
  endAtMs: number,
): number {
  const fitting = policy.delaysMs.filter(
    (delayMs) => delayMs <= wantedMs && nowMs + delayMs <= endAtMs,
  );
  return fitting.at(-1) ?? tierDelay(policy, 0);
}

/** The tier of a delivery that was parked that many times. */
export function tierDelay(policy: RetryPolicy, parked: number): number {
  const { delaysMs } = policy;
  return delaysMs[Math.min(parked, delaysMs.length - 1)] ?? 0;
}

/** The first tier that covers `waitMs`, else the longest, as long as it ends within the window. */
function reach(policy: RetryPolicy, waitMs: number, nowMs: number, endAtMs: number): number | null {
  let best: number | null = null;
  for (const delayMs of policy.delaysMs) {
    if (nowMs + delayMs > endAtMs - cutMarginMs(policy)) break;
    best = delayMs;
    if (delayMs >= waitMs) break;
  }
  return best;
}
