/**
 * Closes clients when the process ends.
 *
 *   the process                               what happens
 *   has nothing left to do (`beforeExit`)     close, then it ends
 *   gets one of the signals, and no other       close, then the signal again, so that the process
 *     code listens for it                       ends as it would without this
 *   the same, as the first process of a       close, then it exits with 128 and the signal's number:
 *     container                                 the kernel withholds signals that it does not handle
 *   gets one of the signals, and the          flush, because requests that the application still finishes
 *     application also listens for it           may make calls, and close if that takes too long; ending is
 *                                               left to the application
 *   calls `process.exit`, crashes             nothing, because waiting is no longer possible
 */

import { constants } from "node:os";
import process from "node:process";
import { setTimeout } from "node:timers";

import type { Analytics } from "./analytics.ts";

const STILL_THERE_MS = 100;

export interface CloseOnExitOptions {
  /** Time in milliseconds after which the remaining calls are lost. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Default: SIGTERM and SIGINT. */
  readonly signals?: readonly ("SIGTERM" | "SIGINT" | "SIGHUP" | "SIGBREAK")[] | undefined;
}

interface Hook {
  flush(): Promise<void>;
  close(): Promise<void>;
  remove(): void;
}

/**
 * Hooks by event. The process has only one listener for each event, regardless of the number of clients. Otherwise, a
 * client would mistake the listener of another client for a listener of the application.
 */
const hooked = new Map<string, Set<Hook>>();

/** Returns a function that removes the hooks. */
export function closeOnExit(
  analytics: Pick<Analytics, "close" | "flush">,
  { timeoutMs = 10_000, signals = ["SIGTERM", "SIGINT"] }: CloseOnExitOptions = {},
): () => void {
  const events = ["beforeExit", ...signals];
  const hook: Hook = {
    flush: async () => {
      const late = setTimeout(() => void analytics.close({ timeoutMs: 0 }), timeoutMs);
      await analytics.flush();
      clearTimeout(late);
    },
    close: () => analytics.close({ timeoutMs }),
    remove: () => {
      for (const event of events) unhook(event, hook);
    },
  };
  for (const event of events) {
    const hooks = hooked.get(event) ?? new Set();
    hooked.set(event, hooks.add(hook));
    if (hooks.size === 1) process.on(event, listenerOf(event));
  }
  return hook.remove;
}

function unhook(event: string, hook: Hook): void {
  const hooks = hooked.get(event);
  if (hooks?.delete(hook) && hooks.size === 0) process.off(event, listenerOf(event));
}

function listenerOf(event: string): (signal: NodeJS.Signals) => void {
  return event === "beforeExit" ? onEnd : onSignal;
}

function onEnd(): void {
  for (const { close } of hooked.get("beforeExit") ?? []) void close();
}

function onSignal(signal: NodeJS.Signals): void {
  const hooks = [...(hooked.get(signal) ?? [])];
  if (process.listenerCount(signal) > 1) {
    for (const { flush } of hooks) void flush();
    return;
  }
  // The listener stays until all clients are closed, because a second signal must not interrupt the closing.
  void Promise.allSettled(hooks.map(({ close }) => close())).then(() => {
    for (const { remove } of hooks) remove();
    end(signal);
  });
}

/** Ends the process as the signal would have ended it. */
function end(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
  // By this time, the signal has arrived. If the process is still running, it must be the first process of a container.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), STILL_THERE_MS);
}
