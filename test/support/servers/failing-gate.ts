/** A proxy between a client and ingest, which handles the first requests as a test specifies. */

import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A status that ingest may answer, or the connection's end before or after ingest has taken it. */
export type Failure = number | "drop" | "drop-answer";

export interface FailingGate extends AsyncDisposable {
  readonly endpoint: string;
  /** Posts that came, let through or not. */
  readonly requests: () => number;
}

/** @param failures of the first posts, in turn; the others are let through. */
export async function failingGate(
  ingestPort: number,
  failures: readonly Failure[],
): Promise<FailingGate> {
  let requests = 0;
  const server = createServer((incoming, response) => {
    // A browser asks for settings, and whether it may post.
    const failure = incoming.method === "POST" ? failures[requests] : undefined;
    if (incoming.method === "POST") requests += 1;
    if (failure === "drop") incoming.socket.destroy();
    else if (typeof failure === "number") refuse(incoming, response, failure);
    else pass(ingestPort, incoming, response, failure === "drop-answer");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
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
  const onward = request({ port, method, path, headers, agent: false }, (answer) => {
    if (isDropped) {
      answer.resume().on("end", () => incoming.socket.destroy());
      return;
    }
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.destroy());
  incoming.pipe(onward);
}
