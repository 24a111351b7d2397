/** An HTTP server that accepts webhooks, and stores them. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as timer } from "node:timers/promises";

export interface TakenWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
}

export interface WebhookServer extends AsyncDisposable {
  readonly port: number;
  readonly taken: readonly TakenWebhook[];
  /** The webhooks for a path. */
  at(path: string): readonly TakenWebhook[];
  /** Delays later responses for a path. */
  slow(path: string, ms: number): void;
  /** Connections that are open now. */
  open(): number;
}

/** Starts a server that responds 200 to everything. */
export async function webhookServer(): Promise<WebhookServer> {
  const taken: TakenWebhook[] = [];
  const byPath = new Map<string, TakenWebhook[]>();
  const slow = new Map<string, number>();
  let open = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      const body = Buffer.concat(chunks).toString();
      const one = { path, headers: request.headers, body, atMs: Date.now() };
      taken.push(one);
      byPath.set(path, byPath.get(path) ?? []);
      byPath.get(path)?.push(one);
      void timer(slow.get(path) ?? 0).then(() => response.end("ok"));
    });
  });
  server.on("connection", (socket) => {
    open += 1;
    socket.on("close", () => {
      open -= 1;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    taken,
    at: (path) => byPath.get(path) ?? [],
    slow: (path, ms) => slow.set(path, ms),
    open: () => open,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
