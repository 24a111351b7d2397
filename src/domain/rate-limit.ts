/**
 * A smooth rate limit, for a destination's `requestsPerSecond`.
 *
 * Two rules apply at the same time:
 *
 *   spacing   one every 1/rate seconds. Events that a late timer missed are caught up, for at most
 *             50 ms, so that coarse timers cost no throughput.
 *   window    at most `rate` within any second, however late timers were: the event that was `rate`
 *             events ago must be a second in the past. A fraction is rounded up and the second is
 *             lengthened accordingly: 5 per second in three processes are 2 in 1.2 s in each.
 *
 * The window stores one number for each event that a second allows. It is allocated only at the first event, because
 * most of a thousand destinations never have one.
 */

export interface RateLimiter {
  /**
   * If all `count` events may happen now, counts them and returns 0. Otherwise counts nothing and returns the number
   * of milliseconds to wait before the next call. If no event happened in the last second, any `count` is allowed,
   * even if it exceeds the rate.
   */
  take(nowMs: number, count?: number): number;
  /**
   * Changes the rate, for example when partitions move. The rate must be above 0. Events that were counted remain
   * counted, and the next one is due as if the new rate had already applied to the last one.
   */
  setRate(perSecond: number): void;
}

const CATCH_UP_MS = 50;
const SECOND_MS = 1_000;

/** @param perSecond must be above 0, and may be a fraction. */
export function createRateLimiter(perSecond: number): RateLimiter {
  let spacingMs = SECOND_MS / perSecond;
  let windowSize = Math.ceil(perSecond);
  let retryWindowMs = (windowSize * SECOND_MS) / perSecond;
  let kept: Float64Array | null = null;
  let at = 0;
  let nextAtMs = Number.NEGATIVE_INFINITY;
  let lastAtMs = Number.NEGATIVE_INFINITY;
  return {
    take: (nowMs, count = 1) => {
      kept ??= emptyWindow(windowSize);
      const times = kept;
      const oldest = times[(at + Math.min(count, times.length) - 1) % times.length];
      const earliestMs = Math.max(nextAtMs, (oldest ?? Number.NEGATIVE_INFINITY) + retryWindowMs);
      // Without this check, events would wait for a long time after the clock was set back.
      const isSetBack = nowMs < lastAtMs - SECOND_MS;
      if (isSetBack) times.fill(Number.NEGATIVE_INFINITY);
      else if (nowMs < earliestMs) return earliestMs - nowMs;
      lastAtMs = nowMs;
      for (let counted = 0; counted < count; counted += 1) {
        times[at] = nowMs;
        at = (at + 1) % times.length;
      }
      const isBehind = Number.isFinite(nextAtMs) && Math.abs(nowMs - nextAtMs) <= CATCH_UP_MS;
      nextAtMs = (isBehind ? nextAtMs : nowMs) + spacingMs * count;
      return 0;
    },
    setRate: (rate) => {
      const beforeMs = spacingMs;
      spacingMs = SECOND_MS / rate;
      windowSize = Math.ceil(rate);
      retryWindowMs = (windowSize * SECOND_MS) / rate;
      if (kept === null) return;
      nextAtMs = lastAtMs + ((nextAtMs - lastAtMs) * spacingMs) / beforeMs;
      const times = emptyWindow(windowSize);
      const recent = inOrder(kept, at).slice(-times.length);
      times.set(recent, times.length - recent.length);
      kept = times;
      at = 0;
    },
  };
}

function emptyWindow(size: number): Float64Array {
  return new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
}

function inOrder(times: Float64Array, at: number): Float64Array {
  const ordered = new Float64Array(times.length);
  ordered.set(times.subarray(at), 0);
  ordered.set(times.subarray(0, at), times.length - at);
  return ordered;
}
