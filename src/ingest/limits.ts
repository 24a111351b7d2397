/**
 * The limits of ingest, beyond those of a single request.
 *
 *   limit             counts                                            full
 *   bytes in hand     bodies being read, and records that are not       refused until some are given
 *                     acknowledged, also those given up on              back
 *   those without     bodies whose write key is not known before        refused until some are given
 *   a key             they are read; they are bytes in hand too         back
 *   calls a second    calls of a source                                 refused until they are paid off
 *
 * A request alone is let in whatever its size, so that no setting can lock it out for good. A batch
 * may run a source into debt, which keeps the rate and never splits a batch.
 */

/** The memory of one request. */
export interface Hold {
  /** False: there is no room; earlier holds stay. */
  grow(bytes: number): boolean;
  /** Gives back some of it. */
  shrink(bytes: number): void;
  /** Gives back everything. Safe to call more than once. */
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

/** Both have room, or neither is grown. */
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
  /** 0: let in and counted. More: milliseconds until the source may send again; nothing counted. */
  take(calls: number, nowMs: number): number;
  /** Another rate from now on. Calls taken before are still paid off. */
  changeTo(perSecond: number): void;
}

/** @param first above 0; a second's worth may come at once. */
export function callRate(first: number): CallRate {
  let perSecond = first;
  let most = Math.max(1, perSecond);
  let left = most;
  let countedAtMs: number | null = null;
  return {
    take: (calls, nowMs) => {
      // A clock that was set back pays nothing off, and takes nothing away.
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
