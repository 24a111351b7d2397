/** A scripted token endpoint, and an endpoint that accepts its tokens, over HTTP or TLS. */

import { once } from "node:events";
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";

export interface TakenRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The subject of the client's certificate; null if it has none. */
  readonly client: string | null;
}

export interface RespondingServer extends AsyncDisposable {
  readonly url: string;
  readonly taken: readonly TakenRequest[];
}

/**
 * @param respond called with the response, the request, and the number of earlier requests.
 * @param tls if absent, HTTP is used.
 */
export async function respondingServer(
  respond: (response: ServerResponse, request: TakenRequest, earlier: number) => void,
  tls?: ServerOptions,
): Promise<RespondingServer> {
  const taken: TakenRequest[] = [];
  const server = tls === undefined ? createHttpServer() : createHttpsServer(tls);
  server.on("request", (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const client = (request.socket as Partial<TLSSocket>).getPeerX509Certificate?.()?.subject;
      const body = Buffer.concat(chunks).toString();
      const one = { headers: request.headers, body, client: client ?? null };
      taken.push(one);
      respond(response, one, taken.length - 1);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://localhost:${port}`,
    taken,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
