/**
 * Waits for brokers that answer and cannot do yet what a start needs: one restarts, a leader is being
 * elected, the controller moves. A thing that people have to change ends the start at once.
 *
 *   a try                                then
 *   works                                done
 *   fails, `kafka.startTimeout` is over  throws what it failed of
 *   fails for longer than its error is   the same
 *   worth waiting for
 *   fails, the program is told to stop   throws `StartInterruptedError`
 *   fails                                the log says of what, once for each; again, 0.5 to 5 s later
 */

import { setTimeout as sleep } from "node:timers/promises";

import { patienceMs } from "../kafka/cluster/start-patience.ts";
import type { Log } from "../telemetry/log.ts";

const DELAY_FIRST_MS = 500;
const DELAY_MAX_MS = 5_000;

/** Does no harm to what has been done when it is called again. */
export type WaitOut = <Result>(work: () => Promise<Result>) => Promise<Result>;

export interface Waits {
  /** By `performance.now`. */
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
    /** The first one in a row of those that are not waited for without an end. */
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
      // Programs that were started together do not ask together.
      const spreadMs = delayMs * (0.5 + Math.random() / 2);
      const waitMs = Math.max(0, Math.min(spreadMs, untilMs - performance.now()));
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) throw new StartInterruptedError("told to stop while brokers settle");
    }
  };
}
