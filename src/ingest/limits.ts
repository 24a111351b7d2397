/**
 * What ingest lets in, beyond what a single request may be.
 *
 *   limit             counts                                            full
 *   bytes in hand     bodies being read, and records that are not       refused until some are given
 *                     acknowledged, also those given up on              back
 *   calls a second    calls of a source                                 refused until they are paid off
 *
 * A request alone is let in whatever its size, so that no setting can lock it out for good. A batch
 * may run a source into debt, which keeps the rate and never splits a batch.
 */

/** What one request holds. */
export interface Hold {
  /** False: there is no room; what was held before stays held. */
  grow(bytes: number): boolean;
  /** Gives back some of it. */
  shrink(bytes: number): void;
  /** Gives back everything. Safe to call more than once. */
  release(): void;
}

export interface BytesInHand {
  open(): Hold;
  total(): number;
}

export function bytesInHand(bytesMax: number): BytesInHand {
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
          if (total + bytes > bytesMax && !isAlone) return false;
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

export interface CallRate {
  /** 0: let in and counted. More: milliseconds until the source may send again; nothing counted. */
  take(calls: number, nowMs: number): number;
}

/** @param perSecond above 0; a second's worth may come at once. */
export function callRate(perSecond: number): CallRate {
  const most = Math.max(1, perSecond);
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
  };
}
