/**
 * Applies the limits of the ingest stage that apply to several requests together.
 *
 *   limit              counts                                            if it is reached, requests are
 *   bytes in flight    bodies being read, and records that are not       rejected until some bytes
 *                      acknowledged, even after their request timed out  are returned
 *   unauthenticated    bodies whose write key is unknown until they are  rejected until some bytes
 *   bytes              read; they also count as bytes in flight          are returned
 *   calls per second   calls from a source                               rejected until the rate allows more
 *
 * If no other request is in flight, a request of any size is accepted, so that no setting can block a request
 * permanently. A batch is never split: it may exceed its source's rate, and the source's next calls then have to
 * wait longer.
 */

/** The memory that one request holds. */
export interface Hold {
  /** Returns false if there is no room for these bytes. The bytes that are already held are kept. */
  grow(bytes: number): boolean;
  shrink(bytes: number): void;
  /** Returns all held bytes. Safe to call more than once. */
  release(): void;
}

export interface InFlightBytes {
  open(): Hold;
  total(): number;
}

export function maxInFlightBytes(maxBytes: number): InFlightBytes {
  let total = 0;
  return {
    total: () => total,
    open: () => {
      let held = 0;
      const shrink = (bytes: number) => {
        const given = Math.min(bytes, held);
        held -= given;
        total -= given;
      };
      return {
        grow: (bytes) => {
          const isAlone = total === held;
          if (total + bytes > maxBytes && !isAlone) return false;
          held += bytes;
          total += bytes;
          return true;
        },
        shrink,
        release: () => shrink(held),
      };
    },
  };
}

/** Combines two holds. If one of them has no room to grow, neither grows. */
export function both(one: Hold, other: Hold): Hold {
  const each = [one, other];
  return {
    grow: (bytes) => {
      if (!one.grow(bytes)) return false;
      if (other.grow(bytes)) return true;
      one.shrink(bytes);
      return false;
    },
    shrink: (bytes) => {
      for (const hold of each) hold.shrink(bytes);
    },
    release: () => {
      for (const hold of each) hold.release();
    },
  };
}

export interface CallRate {
  /**
   * Returns 0 if the calls are accepted, and counts them. Otherwise, returns the number of milliseconds until the
   * source may send again.
   */
  take(calls: number, nowMs: number): number;
  /** Changes the rate from now on. Calls that were accepted before continue to count. */
  changeTo(perSecond: number): void;
}

/**
 * @param first the initial rate in calls per second, above 0. The calls that one second allows may all arrive at
 *   once.
 */
export function callRate(first: number): CallRate {
  let perSecond = first;
  let most = Math.max(1, perSecond);
  let left = most;
  let countedAtMs: number | null = null;
  return {
    take: (calls, nowMs) => {
      // If the clock was set back, the count does not change.
      const passedMs = Math.max(0, nowMs - (countedAtMs ?? nowMs));
      countedAtMs = nowMs;
      left = Math.min(most, left + (passedMs * perSecond) / 1_000);
      if (left < 1) return Math.ceil(((1 - left) * 1_000) / perSecond);
      left -= calls;
      return 0;
    },
    changeTo: (changed) => {
      perSecond = changed;
      most = Math.max(1, perSecond);
      left = Math.min(most, left);
    },
  };
}
