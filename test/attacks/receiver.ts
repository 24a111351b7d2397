/**
 * The endpoints of the product that is attacked. The first part of the path identifies an endpoint.
 *
 *   failing      503 to everything
 *   any other    200 for a request whose signatures are correct, otherwise 400
 */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

import { parsePayload, verify, verifyStandard } from "../../src/sdk/webhooks/index.ts";

export interface Received {
  readonly destination: string;
  readonly messageId: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** All accepted requests. */
  readonly received: readonly Received[];
  /** Why requests were refused. Each entry is a fault of the product. */
  readonly refused: readonly string[];
}

/** The first part of the path for an endpoint that always fails. */
const FAILING = "failing";
const DECODED_ID_MAX = 200;

export async function startReceiver(secret: string): Promise<Receiver> {
  const received: Received[] = [];
  const refused: string[] = [];
  const take = async (request: IncomingMessage): Promise<number> => {
    const body = await buffer(request);
    if (request.url?.startsWith(`/${FAILING}`)) return 503;
    const problem = problemWith(request, body, secret);
    if (problem === null) received.push(delivery(request, body));
    else refused.push(problem);
    return problem === null ? 200 : 400;
  };
  const server = createServer((request, response) => {
    take(request).then(
      (status) => response.writeHead(status).end(),
      (error: unknown) => {
        refused.push(`${error}`);
        response.destroy();
      },
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    refused,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function delivery(request: IncomingMessage, body: Buffer): Received {
  const [, destination = ""] = (request.url ?? "").split("/");
  const id = `${request.headers["x-switchyard-message-id"] ?? ""}`;
  const messageId = id.length > DECODED_ID_MAX ? id : decodeURIComponent(id);
  return { destination, messageId, headers: request.headers, body };
}

function problemWith(request: IncomingMessage, body: Buffer, secret: string): string | null {
  const { headers } = request;
  if (!verify(body, `${headers["x-signature"]}`, secret)) return "X-Signature does not fit";
  if (!verifyStandard(body, headers, secret)) return "webhook-signature does not fit";
  if (JSON.stringify(JSON.parse(body.toString())) !== body.toString()) return "the JSON changes";
  parsePayload(body);
  return null;
}
