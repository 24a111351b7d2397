/**
 * Replaces two timers of kafkajs' request queue, and the queue's map of requests without a response. Each
 * connection has a queue.
 *
 *   timer                      kafkajs                       here
 *   check of pending requests  always running, every         only while requests are pending: until
 *                              millisecond when idle         the throttle ends, or every 10 ms
 *   check for timeouts         every 100 ms                  every 100 ms to 1 s, a twentieth of
 *                                                            the request timeout
 *
 * A request is pending while the broker has requested a pause (throttling) or too many are in flight.
 * Any other request is sent immediately.
 *
 * A connection with a request that timed out is closed, as in Java's client: a broker responds in order, so
 * nothing more can arrive on it. kafkajs would continue to use the connection, and each request would time out
 * after 30 s.
 *
 * A response with a throttle time (KIP-219) means that the broker reads nothing more from the connection for
 * that time. kafkajs sends pending requests before it has read the throttle time. Here the throttle time is applied
 * first, and one request is sent at a time until a response has no throttle time. The reason is that requests which
 * wait in the broker can neither be moved to another connection nor be excluded from the timeouts.
 *
 * While a connection authenticates again (`sessions.ts`), its other requests wait in order.
 */

import { throttleMsIn } from "../wire/throttle-time.ts";
import type { Replacement } from "./load-kafkajs.ts";

const OVERLOADED_CHECK_MS = 10;
/** SaslHandshake and SaslAuthenticate. */
const AUTHENTICATION_KEYS: ReadonlySet<number> = new Set([17, 36]);

/** The part of kafkajs' RequestQueue that the code here uses. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  inflight: RequestsInFlight;
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly enforceRequestTimeout: boolean;
  readonly requestTimeout: number;
  requestTimeoutIntervalId?: NodeJS.Timeout;
  readonly isConnected: () => boolean;
  onTimedOut: (() => void) | null;
  onThrottled: HoldingQueue["onThrottled"];
  isThrottled: boolean;
  push(request: PushedRequest): void;
  rejectAll(error: Error): void;
  maybeThrottle(ms: number): void;
  fulfillRequest(response: Fulfilled): void;
  canSendSocketRequestImmediately(): boolean;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
}

interface PushedRequest {
  readonly entry: {
    readonly apiKey: number;
    readonly reject: (error: Error) => void;
  };
}

interface Fulfilled {
  readonly correlationId: number;
  readonly payload: Buffer;
}

/** The part of the replacement that other code uses. */
export interface HoldingQueue {
  /** Called when the broker requests a pause. */
  onThrottled: ((request: string, throttleMs: number) => void) | null;
  /** `true` if the latest response had a throttle time above 0. */
  readonly isThrottled: boolean;
  /** Called when a request has timed out. */
  onTimedOut: (() => void) | null;
  /** Makes all requests wait except those that belong to an authentication. */
  hold(): void;
  /** Sends the requests that waited, if the connection still exists. */
  release(): void;
}

type RequestQueueClass = new (options: unknown) => RequestQueue;

interface SocketRequest {
  readonly entry: {
    readonly apiKey: number;
    readonly apiName: string;
    readonly apiVersion: number;
  };
  sentAt: number;
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

export function timeoutCheckMs(requestTimeoutMs: number): number {
  return Math.min(requestTimeoutMs, Math.max(100, Math.min(requestTimeoutMs / 20, 1000)));
}

function scheduleRequestTimeoutCheck(this: RequestQueue): void {
  if (!this.enforceRequestTimeout) return;
  this.destroy();
  this.requestTimeoutIntervalId = setInterval(() => {
    const nowMs = Date.now();
    const late = this.inflight
      .values()
      .filter(({ sentAt, requestTimeout }) => nowMs - sentAt > requestTimeout);
    for (const request of late) request.timeoutRequest();
    if (late.length > 0) this.onTimedOut?.();
    if (!this.isConnected()) this.destroy();
  }, timeoutCheckMs(this.requestTimeout));
}

/**
 * Replaces the queue's `Map` for the few requests that a connection has in flight. V8 allocates a new table for a map
 * each time the map is emptied (`in-flight-set.ts`), which would happen with each response.
 */
class RequestsInFlight {
  readonly #ids: number[] = [];
  readonly #requests: SocketRequest[] = [];

  get size(): number {
    return this.#ids.length;
  }

  has(id: number): boolean {
    return this.#ids.includes(id);
  }

  get(id: number): SocketRequest | undefined {
    const at = this.#ids.indexOf(id);
    return at === -1 ? undefined : this.#requests[at];
  }

  set(id: number, request: SocketRequest): void {
    this.#ids.push(id);
    this.#requests.push(request);
  }

  delete(id: number): void {
    const at = this.#ids.indexOf(id);
    if (at === -1) return;
    this.#ids.splice(at, 1);
    this.#requests.splice(at, 1);
  }

  /** A copy, because requests may be removed while the caller iterates. */
  values(): readonly SocketRequest[] {
    return this.#requests.slice();
  }

  clear(): void {
    this.#ids.length = 0;
    this.#requests.length = 0;
  }
}

export const requestQueue: Replacement = {
  name: "request-queue",
  module: "src/network/requestQueue/index.js",
  replace: (load) => {
    const Original = load("src/network/requestQueue/index.js") as RequestQueueClass;
    const { KafkaJSConnectionClosedError } = load("src/errors.js") as {
      readonly KafkaJSConnectionClosedError: new (message: string) => Error;
    };
    return class extends Original implements HoldingQueue {
      override onTimedOut: (() => void) | null = null;
      override onThrottled: ((request: string, throttleMs: number) => void) | null = null;
      override isThrottled = false;
      #held: PushedRequest[] | null = null;

      hold(): void {
        this.#held ??= [];
      }

      release(): void {
        const held = this.#held ?? [];
        this.#held = null;
        for (const request of held) {
          if (this.isConnected()) this.push(request);
          else request.entry.reject(new KafkaJSConnectionClosedError("Closed connection"));
        }
      }

      override push(request: PushedRequest): void {
        if (this.#held === null || AUTHENTICATION_KEYS.has(request.entry.apiKey))
          super.push(request);
        else this.#held.push(request);
      }

      override fulfillRequest(response: Fulfilled): void {
        const entry = this.inflight.get(response.correlationId)?.entry;
        if (entry !== undefined) this.#mayBeThrottled(entry, response.payload);
        super.fulfillRequest(response);
      }

      override canSendSocketRequestImmediately(): boolean {
        if (this.isThrottled && this.inflight.size > 0) return false;
        return super.canSendSocketRequestImmediately();
      }

      #mayBeThrottled({ apiKey, apiName, apiVersion }: SocketRequest["entry"], payload: Buffer) {
        const throttleMs = throttleMsIn(apiKey, apiVersion, payload);
        this.isThrottled = throttleMs > 0;
        if (!this.isThrottled) return;
        this.maybeThrottle(throttleMs);
        // The broker does not read these requests before the throttle time is over.
        for (const request of this.inflight.values()) request.sentAt += throttleMs;
        this.onThrottled?.(apiName, throttleMs);
      }

      override rejectAll(error: Error): void {
        for (const { entry } of this.#held?.splice(0) ?? []) entry.reject(error);
        super.rejectAll(error);
      }

      override inflight = new RequestsInFlight();
      override scheduleCheckPendingRequests = scheduleCheckPendingRequests;
      override scheduleRequestTimeoutCheck = scheduleRequestTimeoutCheck;
    };
  },
};
