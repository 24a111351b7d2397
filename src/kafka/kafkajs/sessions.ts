/**
 * Logging in again on an open connection, before the broker ends its session (KIP-368). Each
 * connection does so with the first request after its time has come.
 *
 *   since the log-in                    kafkajs                     here
 *   under 85 to 95 % of the session     sends the request, or       sends the request
 *                                       logs in 10 s before the end
 *   later                               logs in                     logs in
 *   later, and under 1.1 s              logs in, and is refused     waits until then, logs in
 *
 * So kafkajs alone cannot use sessions of less than 10 s, such as those of a token that is nearly
 * used up: brokers refuse a log-in within a second of the last one. The share differs from connection to connection, so that those which were opened together do
 * not log in together, too.
 *
 * A broker takes nothing but the log-in while it goes on. Requests that come meanwhile are held
 * until it is done; kafkajs sends those that it was already encoding. A log-in that fails, the first
 * one too, leaves the connection in no state to be used: it is closed, and its requests are made
 * again on another one, with what the credentials are then. So is one with a request that is not
 * answered in time.
 */

import assert from "node:assert/strict";
import type net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { hostAndPort } from "../../runtime/listening.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";
import type { HoldingQueue } from "./request-queue.ts";
import { throttled } from "./throttles.ts";

const AGAIN_AFTER_MS = 1_100;
const SHARE_MIN = 0.85;
const SHARE_MAX = 0.95;

/** @param share of the session, after which it is time. */
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
  /** By `process.hrtime`; null: not logged in. */
  readonly authenticatedAt: [number, number] | null;
  /** A kind of Long, in milliseconds; 0: unlimited. */
  readonly sessionLifetime: { toString(): string };
  isAuthenticated(): boolean;
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
          this.socket?.destroy(new Error("a request was not answered in time"));
        const broker = hostAndPort(this.host, this.port);
        this.requestQueue.onThrottled = (request, throttleMs) =>
          throttled(this.socketFactory, { broker, request, throttleMs });
        // Under a symbol of the module, and called only through it.
        const isAuthentication = ({ description }: symbol) => description === AUTHENTICATION;
        const symbol = Object.getOwnPropertySymbols(this).find(isAuthentication);
        assert(symbol !== undefined, "kafkajs' connection has no log-in");
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

      async #authenticateFirst(authenticateToBroker: BrokerAuthentication): Promise<void> {
        try {
          await authenticateToBroker();
        } catch (error) {
          // kafkajs would begin again on it, in the middle of this log-in.
          this.#close("cannot log in", error);
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
          // Its requests fail as those of a connection that is cut, and are made again.
          this.#close("cannot log in again", error);
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

/** Takes no turn of the event loop when the time has come. */
async function untilAllowed(at: [number, number]): Promise<void> {
  const waitMs = AGAIN_AFTER_MS - sinceMs(at);
  if (waitMs > 0) await sleep(waitMs);
}

function sinceMs(at: [number, number]): number {
  const [seconds, nanoseconds] = process.hrtime(at);
  return seconds * 1_000 + nanoseconds / 1_000_000;
}

const AUTHENTICATION = "private:Connection:authenticate";
