/**
 * Waits for brokers that respond but are not ready for the start yet: a broker is restarting, a leader is being
 * elected, or the controller is moving. A problem that an operator has to fix ends the start immediately.
 *
 *   an attempt                              then
 *   succeeds                                done
 *   fails after `kafka.startTimeout`        throws its error
 *   fails, and errors of its kind have      the same
 *   lasted longer than their limit
 *   fails while the program is stopping     throws `StartInterruptedError`
 *   fails in any other way                  the error is logged once; the next attempt is 0.25 to 5 s later
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../base/telemetry/log.ts";
import { patienceMs } from "../../kafka/cluster/kafka-error.ts";

const DELAY_FIRST_MS = 500;
const DELAY_MAX_MS = 5_000;

/** Calls the work again if it fails, so the work must be idempotent. */
export type WaitOut = <Result>(work: () => Promise<Result>) => Promise<Result>;

export interface Waits {
  /** A time of `performance.now`. */
  readonly untilMs: number;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly delayFirstMs?: number;
}

export class StartInterruptedError extends Error {
  override readonly name = "StartInterruptedError";
}

export function waitOut({ untilMs, log, signal, delayFirstMs = DELAY_FIRST_MS }: Waits): WaitOut {
  const said = new Set<string>();
  return async (work) => {
    /** When the current series of errors with a limited wait started; null if there is no such series. */
    let firstAtMs: number | null = null;
    for (let delayMs = delayFirstMs; ; delayMs = Math.min(DELAY_MAX_MS, 2 * delayMs)) {
      try {
        return await work();
      } catch (error) {
        const [nowMs, patience] = [performance.now(), patienceMs(error)];
        firstAtMs = Number.isFinite(patience) ? (firstAtMs ?? nowMs) : null;
        const isOver = nowMs >= untilMs || nowMs - (firstAtMs ?? nowMs) >= patience;
        if (isOver && !signal.aborted) throw error;
        const cause = error instanceof Error ? error.message : String(error);
        if (!signal.aborted && !said.has(cause)) log.warn({ cause }, "kafka.waiting");
        said.add(cause);
      }
      // The wait is random, so that processes which were started together do not send requests at the same time.
      const spreadMs = delayMs * (0.5 + Math.random() / 2);
      const waitMs = Math.max(0, Math.min(spreadMs, untilMs - performance.now()));
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted)
        throw new StartInterruptedError("interrupted while waiting for the brokers");
    }
  };
}
