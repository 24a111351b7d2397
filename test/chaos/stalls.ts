/**
 * When this process stood still, on a machine with too much to do. The endpoints' requests of such a
 * time are noted late, so nobody knows whether they came early or late.
 */

export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface StallWatch extends Disposable {
  readonly stalls: readonly Stall[];
}

const STEP_MS = 50;
const LONG_MS = 400;
/** Until all that had come in meanwhile is noted. */
const CAUGHT_UP_MS = 1_000;

export function watchStalls(): StallWatch {
  const stalls: Stall[] = [];
  let lastMs = Date.now();
  const timer = setInterval(() => {
    const nowMs = Date.now();
    if (nowMs - lastMs > LONG_MS) stalls.push({ fromMs: lastMs, toMs: nowMs + CAUGHT_UP_MS });
    lastMs = nowMs;
  }, STEP_MS);
  return { stalls, [Symbol.dispose]: () => clearInterval(timer) };
}

export function isNotedLate(
  requests: readonly { readonly atMs: number }[],
  stalls: readonly Stall[],
): boolean {
  return requests.some(({ atMs }) =>
    stalls.some(({ fromMs, toMs }) => atMs >= fromMs && atMs <= toMs),
  );
}
