/** An HTTP server that keeps the requests that it takes, and responds as a test says. */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import { buffer } from "node:stream/consumers";
import { setTimeout as timer } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";

import type { Lifetime } from "./lifetime.ts";
import { listening } from "./listening.ts";

export interface TakenRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values as they were sent, in turn. */
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  readonly body: string;
  readonly atMs: number;
  /** The call, from X-Switchyard-Message-Id; `undefined`, as a text, if the destination does not send it. */
  readonly id: string;
  /** How many requests with the same path and ID there were before. */
  readonly earlier: number;
  /** The subject of the client's certificate; null if it has none. */
  readonly client: string | null;
  /** The status of the response; 0 until there is one. */
  readonly status: number;
  /** When the response was written; 0 until then. */
  readonly respondedAtMs: number;
}

/** The status of a response, or more of it; or the end of the connection, or nothing at all. */
export type Answer =
  | number
  | "destroy"
  | "silence"
  | {
      readonly status?: number;
      readonly headers?: OutgoingHttpHeaders;
      readonly body?: string | Buffer;
      readonly afterMs?: number;
    };

/** @param taken all requests, the newest last. */
export type Manner = (
  request: TakenRequest,
  taken: readonly TakenRequest[],
) => Answer | Promise<Answer>;

export interface Receiver extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, without a slash. */
  readonly url: string;
  readonly taken: readonly TakenRequest[];
  /** The requests for a path, which starts with a slash. */
  at(path: string): readonly TakenRequest[];
  /** The message IDs of the requests for a path. */
  ids(path: string): readonly string[];
  /** The requests for a path that got the status 200. */
  accepted(path: string): readonly TakenRequest[];
  /** Delays later responses for a path. */
  slow(path: string, ms: number): void;
  /** How many connections are open now. */
  open(): number;
}

/** Starts a receiver that ends with the test. By default, it responds 200 to everything. */
export async function useReceiver(
  manner?: Manner,
  lifetime: Lifetime = onTestFinished,
): Promise<Receiver> {
  const receiver = await startReceiver(manner);
  lifetime(() => receiver[Symbol.asyncDispose]());
  return receiver;
}

/**
 * Starts a receiver that the caller disposes.
 *
 * @param tls if absent, HTTP is used.
 * @param own the port; by default, a free one.
 */
export async function startReceiver(
  manner: Manner = () => 200,
  tls?: ServerOptions,
  own = 0,
): Promise<Receiver> {
  const taken: TakenRequest[] = [];
  const byPath = new Map<string, TakenRequest[]>();
  const counts = new Map<string, number>();
  const slow = new Map<string, number>();
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "", url: path = "", headers, rawHeaders } = request;
    const bytes = await buffer(request);
    const id = `${headers["x-switchyard-message-id"]}`;
    const earlier = counts.get(`${path} ${id}`) ?? 0;
    counts.set(`${path} ${id}`, earlier + 1);
    const client = (request.socket as Partial<TLSSocket>).getPeerX509Certificate?.()?.subject;
    const sent = { method, path, headers, rawHeaders, bytes, body: `${bytes}`, id };
    const one = {
      ...sent,
      earlier,
      client: client ?? null,
      status: 0,
      respondedAtMs: 0,
      atMs: Date.now(),
    };
    taken.push(one);
    byPath.set(path, byPath.get(path) ?? []);
    byPath.get(path)?.push(one);
    const answer = await manner(one, taken);
    if (answer === "silence") return;
    if (answer === "destroy") return void response.destroy();
    const whole = typeof answer === "number" ? { status: answer } : answer;
    one.status = whole.status ?? 200;
    const waitMs = whole.afterMs ?? slow.get(path) ?? 0;
    if (waitMs > 0) await timer(waitMs);
    response.writeHead(one.status, whole.headers).end(whole.body);
    one.respondedAtMs = Date.now();
  };
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    // The connection ended before its request, or the manner did not understand it.
    void receive(request, response).catch(() => response.destroy());
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  const { port, sockets, [Symbol.asyncDispose]: dispose } = await listening(server, { own });
  const at = (path: string) => byPath.get(path) ?? [];
  return {
    ...{ port, url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, taken, at },
    ids: (path) => at(path).map(({ id }) => id),
    accepted: (path) => at(path).filter(({ status }) => status === 200),
    slow: (path, ms) => slow.set(path, ms),
    open: () => sockets.size,
    [Symbol.asyncDispose]: dispose,
  };
}
