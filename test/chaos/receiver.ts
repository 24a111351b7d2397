/** The endpoints of a run: one HTTP server that answers as told and notes every request. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { Answer } from "./scripts.ts";

export interface ReceivedRequest {
  readonly path: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly atMs: number;
  readonly endAtMs: number;
  /** Null: it got no answer. */
  readonly status: number | null;
  readonly retryAfterMs: number;
}

export interface Receiver extends AsyncDisposable {
  readonly baseUrl: string;
}

/** @param onRequest called when a request is over, with or without an answer. */
export async function startReceiver(
  answer: (path: string, messageId: string, attempt: number) => Answer,
  onRequest: (request: ReceivedRequest) => void,
): Promise<Receiver> {
  const server = createServer((request, response) => {
    const atMs = Date.now();
    const path = request.url ?? "/";
    const messageId = `${request.headers["x-switchyard-message-id"] ?? ""}`;
    const attempt = Number(request.headers["x-switchyard-attempt"]);
    let status: number | null = null;
    let retryAfterMs = 0;
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      onRequest({ path, messageId, attempt, atMs, endAtMs: Date.now(), status, retryAfterMs });
    };
    response.once("close", over);
    request.on("error", () => undefined).resume();
    request.once("end", () => {
      act(answer(path, messageId, attempt), request, response, (code, waitMs) => {
        status = code;
        retryAfterMs = waitMs;
        // Noted as it is answered: the next attempt may come before the connection is heard of.
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

function act(
  answer: Answer,
  request: IncomingMessage,
  response: ServerResponse,
  answered: (status: number, retryAfterMs: number) => void,
): void {
  if (answer.kind === "hang") return;
  if (answer.kind === "reset") {
    request.socket.resetAndDestroy();
    return;
  }
  const { status, retryAfterSeconds, afterMs } = answer;
  setTimeout(() => {
    if (response.destroyed) return;
    if (retryAfterSeconds !== null) response.setHeader("Retry-After", `${retryAfterSeconds}`);
    answered(status, (retryAfterSeconds ?? 0) * 1_000);
    response.writeHead(status).end();
  }, afterMs);
}
