/**
 * Stops reading bodies that arrive so slowly that they would occupy a connection and memory for too long.
 *
 *   in the current period the body received   result
 *   at least the minimum rate                 continues, in a new period
 *   less, and the period is over              is stopped
 *   less, and the period is not over          continues
 */

export interface BodyOnItsWay {
  /** Number of bytes that have arrived so far. */
  readonly bytes: number;
  stop(): void;
}

export interface SlowBodies {
  begin(body: BodyOnItsWay, nowMs: number): void;
  end(body: BodyOnItsWay): void;
  /** Call at regular intervals. */
  look(nowMs: number): void;
}

export function createSlowBodies(bytesPerSecondMin: number, windowMs: number): SlowBodies {
  const windows = new Map<BodyOnItsWay, { sinceMs: number; bytesBefore: number }>();
  return {
    begin: (body, nowMs) => {
      windows.set(body, { sinceMs: nowMs, bytesBefore: body.bytes });
    },
    end: (body) => {
      windows.delete(body);
    },
    look: (nowMs) => {
      for (const [body, window] of windows) {
        const passedMs = nowMs - window.sinceMs;
        if (passedMs < windowMs) continue;
        if ((body.bytes - window.bytesBefore) * 1_000 < bytesPerSecondMin * passedMs) {
          windows.delete(body);
          body.stop();
        } else {
          window.sinceMs = nowMs;
          window.bytesBefore = body.bytes;
        }
      }
    },
  };
}
