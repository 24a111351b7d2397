/**
 * Closes a client when the process ends, for applications that ask for it.
 *
 *   the process                               what happens
 *   has nothing left to do (`beforeExit`)     close, then it ends by itself
 *   gets one of the signals, and nobody       close, then the signal again, so that the process
 *     else listens for it                       ends as it would have
 *   the same, as the first process of a       close, then it exits with 128 and the signal's number:
 *     container                                 the kernel withholds signals that it does not handle
 *   gets one of the signals, and the          close; ending is left to the application
 *     application listens for it too
 *   calls `process.exit`, crashes             nothing: there is no waiting any more
 */

import { constants } from "node:os";
import process from "node:process";
import { setTimeout } from "node:timers";

import type { Analytics } from "./analytics.ts";

const STILL_THERE_MS = 100;

export interface CloseOnExitOptions {
  /** Milliseconds after which the rest is given up. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Default SIGTERM and SIGINT. */
  readonly signals?: readonly ("SIGTERM" | "SIGINT" | "SIGHUP" | "SIGBREAK")[] | undefined;
}

/** Returns a function that takes the hooks away again. */
export function closeOnExit(
  analytics: Pick<Analytics, "close">,
  { timeoutMs = 10_000, signals = ["SIGTERM", "SIGINT"] }: CloseOnExitOptions = {},
): () => void {
  const onEnd = () => {
    void analytics.close({ timeoutMs });
  };
  const onSignal = (signal: NodeJS.Signals) => {
    const isAlone = process.listenerCount(signal) === 1;
    // Until it is closed we keep listening: a second signal must not cut the closing short.
    void analytics.close({ timeoutMs }).finally(() => {
      remove();
      if (isAlone) end(signal);
    });
  };
  const remove = () => {
    process.off("beforeExit", onEnd);
    for (const signal of signals) process.off(signal, onSignal);
  };
  process.on("beforeExit", onEnd);
  for (const signal of signals) process.on(signal, onSignal);
  return remove;
}

/** Ends as the signal would have ended the process. */
function end(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
  // It has come by then. Only the first process of a container is still there.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), STILL_THERE_MS);
}
