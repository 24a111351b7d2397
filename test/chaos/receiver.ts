/**
 * The endpoints of a run: one HTTP server that sends the responses of the scripts and records every request, once for
 * each of its calls. A batch that will be sent again in halves is not recorded, because nothing is decided for its
 * calls.
 */

import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

import { eachResponse, messageIds, parsePayloads } from "../../src/sdk/webhooks/index.ts";
import type { Reply } from "./scripts.ts";

export interface RequestedCall {
  readonly messageId: string;
  readonly attempt: number;
}

export interface ReceivedRequest extends RequestedCall {
  readonly path: string;
  readonly atMs: number;
  readonly endAtMs: number;
  /** Null if the request got no response. */
  readonly status: number | null;
  readonly retryAfterMs: number;
}

export interface Receiver extends AsyncDisposable {
  readonly baseUrl: string;
}

/** @param onRequest called for each call when a request is over, with or without a response. */
export async function startReceiver(
  reply: (path: string, calls: readonly RequestedCall[]) => Reply,
  onRequest: (request: ReceivedRequest) => void,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    const atMs = Date.now();
    const path = request.url ?? "/";
    const calls = callsOf(request.headers);
    let replied: Reply | null = null;
    let isResponded = false;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      if (isResponded && replied?.isSplit === true) return;
      const endAtMs = Date.now();
      calls.forEach((call, index) => {
        const [status, retryAfterMs] =
          isResponded && replied !== null ? responseFor(replied, index) : [null, 0];
        onRequest({ ...call, path, atMs, endAtMs, status, retryAfterMs });
      });
    };
    response.once("close", over);
    const chunks: Buffer[] = [];
    request.on("error", () => undefined).on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      replied = reply(path, readCalls(request, calls, Buffer.concat(chunks)));
      act(replied, request, response, () => {
        isResponded = true;
        // The request is recorded when the response is sent, because the next attempt may arrive before the end of the
        // connection is detected.
        over();
      });
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** The calls of a request: one call, or the calls of a batch, whose IDs and attempts are lists. */
function callsOf(headers: IncomingHttpHeaders): readonly RequestedCall[] {
  const attempts = `${headers["x-switchyard-attempt"] ?? ""}`.split(",");
  return (messageIds(headers) ?? [""]).map((messageId, index) => ({
    messageId,
    attempt: Number(attempts[index]),
  }));
}

/** @throws Error if the body contains other calls than the headers. The error ends the run. */
function readCalls(
  { headers }: IncomingMessage,
  calls: readonly RequestedCall[],
  body: Buffer,
): readonly RequestedCall[] {
  const { length } = parsePayloads(body, headers);
  if (length === calls.length) return calls;
  throw new Error(`a body has ${length} calls, and the headers name ${calls.length}`);
}

function responseFor(
  { scripted, each }: Reply,
  index: number,
): [status: number, retryAfterMs: number] {
  if (scripted.kind !== "status") throw new Error("a request that must get no response got one");
  const status = each?.[index] ?? scripted.status;
  const isAsked = each === null || status === 429 || status === 503;
  return [status, isAsked ? (scripted.retryAfterSeconds ?? 0) * 1_000 : 0];
}

function act(
  { scripted, each }: Reply,
  request: IncomingMessage,
  response: ServerResponse,
  responded: () => void,
): void {
  if (scripted.kind === "hang") return;
  if (scripted.kind === "reset") {
    request.socket.resetAndDestroy();
    return;
  }
  const { status, retryAfterSeconds, afterMs } = scripted;
  setTimeout(() => {
    if (response.destroyed) return;
    if (retryAfterSeconds !== null) response.setHeader("Retry-After", `${retryAfterSeconds}`);
    responded();
    response.writeHead(status).end(each === null ? "" : bodyOf(each));
  }, afterMs);
}

function bodyOf(each: readonly number[]): string {
  return eachResponse(each, new Map(each.map((status, index) => [index, { status }])));
}
