/** A proxy between a client and the ingest stage. A test specifies how it handles the first requests. */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";

import { listening } from "../kit/listening.ts";

/**
 * A status of the ingest stage, or the end of the connection before or after the ingest stage has received the request.
 */
export type Failure = number | "drop" | "drop-response";

export interface FailingGate extends AsyncDisposable {
  readonly endpoint: string;
  /** Number of POST requests that arrived, including those that were not forwarded. */
  readonly requests: () => number;
}

/** @param failures the failures of the first POST requests, in order; later ones are forwarded. */
export async function failingGate(
  ingestPort: number,
  failures: readonly Failure[],
): Promise<FailingGate> {
  let requests = 0;
  const server = createServer((incoming, response) => {
    // Browsers also request settings, and send preflight requests.
    const failure = incoming.method === "POST" ? failures[requests] : undefined;
    if (incoming.method === "POST") requests += 1;
    if (failure === "drop") incoming.socket.destroy();
    else if (typeof failure === "number") refuse(incoming, response, failure);
    else pass(ingestPort, incoming, response, failure === "drop-response");
  });
  const { port, [Symbol.asyncDispose]: dispose } = await listening(server);
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests: () => requests,
    [Symbol.asyncDispose]: dispose,
  };
}

function refuse(incoming: IncomingMessage, response: ServerResponse, status: number): void {
  incoming.resume().on("end", () => {
    const retry = status === 429 || status === 503 ? { "retry-after": "1" } : {};
    const readable = { "access-control-allow-origin": "*" };
    response.writeHead(status, { "content-type": "application/json", ...readable, ...retry });
    response.end('{"success":false,"code":"test","message":"A test."}');
  });
}

function pass(
  port: number,
  incoming: IncomingMessage,
  response: ServerResponse,
  isDropped: boolean,
): void {
  const { method, url: path, headers } = incoming;
  const onward = request({ port, method, path, headers, agent: false }, (upstream) => {
    if (isDropped) {
      upstream.resume().on("end", () => incoming.socket.destroy());
      return;
    }
    response.writeHead(upstream.statusCode ?? 0, upstream.headers);
    upstream.pipe(response);
  });
  onward.on("error", () => response.destroy());
  incoming.pipe(onward);
}
