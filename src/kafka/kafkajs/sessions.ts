/**
 * Authenticates again on an open connection before the broker ends its session (KIP-368). A connection authenticates
 * again before the first request that is sent after a certain part of the session:
 *
 *   since the authentication            kafkajs                     here
 *   under 85 to 95 % of the session     sends the request, or       sends the request
 *                                       authenticates 10 s before
 *                                       the end
 *   later                               authenticates               authenticates
 *   later, but within 1.1 s             authenticates, is rejected  waits until 1.1 s have passed
 *
 * kafkajs alone cannot use sessions of less than 10 s, such as those of a token that is about to expire:
 * brokers reject an authentication within a second of the previous one. The percentage is different for each
 * connection, so that connections that were opened together do not authenticate at the same time.
 *
 * During an authentication, a broker accepts no other request on the connection, so other requests wait. Without this
 * code, kafkajs would send those that it is already encoding. A failed authentication, including the first, leaves the
 * connection unusable: it is closed, and its requests are repeated on another one with the current credentials. A
 * connection is also closed if any of its requests times out.
 */

import assert from "node:assert/strict";
import type net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { hostAndPort } from "../../runtime/listening.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";
import type { HoldingQueue } from "./request-queue.ts";

const AGAIN_AFTER_MS = 1_100;
const SHARE_MIN = 0.85;
const SHARE_MAX = 0.95;

/** @param share the part of the session after which it is time to authenticate. */
export function isTimeToAuthenticate(
  sinceLoginMs: number,
  sessionMs: number,
  share: number,
): boolean {
  return sessionMs > 0 && sinceLoginMs >= sessionMs * share;
}

/** The part of kafkajs' Connection that is used here. */
interface Connection {
  readonly requestQueue: HoldingQueue;
  readonly host: string;
  readonly port: number;
  readonly socketFactory: object;
  readonly socket?: net.Socket;
  /** Time by `process.hrtime`; null if the connection is not authenticated. */
  readonly authenticatedAt: [number, number] | null;
  /** A kind of `Long`, in milliseconds; 0 if unlimited. */
  readonly sessionLifetime: { toString(): string };
  isAuthenticated(): boolean;
  processData(data: Buffer): void;
}

type ConnectionClass = new (options: unknown) => Connection;
type BrokerAuthentication = () => Promise<void>;

export const sessions: Replacement = {
  name: "sessions",
  module: "src/network/connection.js",
  replace: (load: LoadInternal) => {
    const Original = load("src/network/connection.js") as ConnectionClass;
    return class extends Original {
      readonly #share = SHARE_MIN + Math.random() * (SHARE_MAX - SHARE_MIN);

      constructor(options: unknown) {
        super(options);
        this.requestQueue.onTimedOut = () =>
          this.socket?.destroy(new Error("a request got no response in time"));
        const broker = hostAndPort(this.host, this.port);
        this.requestQueue.onThrottled = (request, throttleMs) =>
          throttled(this.socketFactory, { broker, request, throttleMs });
        // The method's key is a symbol that the module does not export, and kafkajs calls the method only by this key.
        const isAuthentication = ({ description }: symbol) => description === AUTHENTICATION;
        const symbol = Object.getOwnPropertySymbols(this).find(isAuthentication);
        assert(symbol !== undefined, "kafkajs' connection has no method to authenticate");
        const own = this as unknown as Record<symbol, BrokerAuthentication>;
        const authenticateToBroker = own[symbol];
        assert(authenticateToBroker !== undefined);
        own[symbol] = () =>
          this.authenticatedAt === null
            ? this.#authenticateFirst(authenticateToBroker)
            : this.#authenticateAgain(authenticateToBroker);
      }

      override isAuthenticated(): boolean {
        if (this.authenticatedAt === null) return false;
        const sessionMs = Number(this.sessionLifetime.toString());
        return !isTimeToAuthenticate(sinceMs(this.authenticatedAt), sessionMs, this.#share);
      }

      /** Closes the connection if the length of a response is impossible. */
      override processData(data: Buffer): void {
        try {
          super.processData(data);
        } catch (error) {
          this.#close("cannot read a response", error);
        }
      }

      async #authenticateFirst(authenticateToBroker: BrokerAuthentication): Promise<void> {
        try {
          await authenticateToBroker();
        } catch (error) {
          // Without this, kafkajs would start another authentication on the connection before this one has ended.
          this.#close("cannot authenticate", error);
          throw error;
        }
      }

      async #authenticateAgain(authenticateToBroker: BrokerAuthentication): Promise<void> {
        this.requestQueue.hold();
        try {
          const { authenticatedAt } = this;
          if (authenticatedAt !== null) await untilAllowed(authenticatedAt);
          await authenticateToBroker();
        } catch (error) {
          // The connection's requests fail in the same way as after a lost connection, so they are repeated.
          this.#close("cannot authenticate again", error);
        } finally {
          this.requestQueue.release();
        }
      }

      #close(what: string, error: unknown): void {
        const why = error instanceof Error ? error.message : String(error);
        this.socket?.destroy(new Error(`${what}: ${why}`));
      }
    };
  },
};

/** Waits until brokers accept another authentication. */
async function untilAllowed(at: [number, number]): Promise<void> {
  const waitMs = AGAIN_AFTER_MS - sinceMs(at);
  if (waitMs > 0) await sleep(waitMs);
}

function sinceMs(at: [number, number]): number {
  const [seconds, nanoseconds] = process.hrtime(at);
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

const AUTHENTICATION = "private:Connection:authenticate";

/**
 * Reports the pauses that brokers request. A client is recognized by its socket factory, to which each
 * of its connections refers.
 */
export interface Throttle {
  readonly broker: string;
  /** The request that the broker responded to. */
  readonly request: string;
  readonly throttleMs: number;
}

type Report = (throttle: Throttle) => void;

const reportOf = new WeakMap<object, Report>();

/** Makes `report` be called when a broker throttles the client with this socket factory. */
export function reportThrottles(socketFactory: object, report: Report): void {
  reportOf.set(socketFactory, report);
}

function throttled(socketFactory: object, throttle: Throttle): void {
  reportOf.get(socketFactory)?.(throttle);
}
