/**
 * Two timers of kafkajs' request queue, one queue for each connection.
 *
 *   timer                      kafkajs                       here
 *   check of pending requests  always running, each          only while requests are pending: until
 *                              millisecond when idle         the throttle ends, or every 10 ms
 *   check for timeouts         every 100 ms                  every 100 ms to 1 s, a twentieth of
 *                                                            the request timeout
 *
 * A request is pending while the broker has asked for a pause (throttling) or when too many are
 * in flight. Nothing is pending otherwise: it has been sent at once.
 */

import type { Replacement } from "./load-kafkajs.ts";

const OVERLOADED_CHECK_MS = 10;

/** The part of kafkajs' RequestQueue that the timers need. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<number, SocketRequest>;
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly enforceRequestTimeout: boolean;
  readonly requestTimeout: number;
  requestTimeoutIntervalId?: NodeJS.Timeout;
  readonly isConnected: () => boolean;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
}

interface SocketRequest {
  readonly sentAt: number;
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

function scheduleCheckPendingRequests(this: RequestQueue): void {
  if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
  const throttledMs = this.throttledUntil - Date.now();
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    },
    throttledMs > 0 ? throttledMs : OVERLOADED_CHECK_MS,
  );
}

/** How often requests are looked through for those that take too long. */
export function timeoutCheckMs(requestTimeoutMs: number): number {
  return Math.min(requestTimeoutMs, Math.max(100, Math.min(requestTimeoutMs / 20, 1000)));
}

function scheduleRequestTimeoutCheck(this: RequestQueue): void {
  if (!this.enforceRequestTimeout) return;
  this.destroy();
  this.requestTimeoutIntervalId = setInterval(() => {
    const nowMs = Date.now();
    for (const request of this.inflight.values()) {
      if (nowMs - request.sentAt > request.requestTimeout) request.timeoutRequest();
    }
    if (!this.isConnected()) this.destroy();
  }, timeoutCheckMs(this.requestTimeout));
}

export const idleTimer: Replacement = {
  name: "idle-timers",
  module: "src/network/requestQueue/index.js",
  replace: (load) => {
    const queue = load("src/network/requestQueue/index.js") as { prototype: RequestQueue };
    queue.prototype.scheduleCheckPendingRequests = scheduleCheckPendingRequests;
    queue.prototype.scheduleRequestTimeoutCheck = scheduleRequestTimeoutCheck;
    return queue;
  },
};
