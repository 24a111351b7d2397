/**
 * A stand-in for a schema registry, for features and faults that Apicurio does not have: GUIDs, authentication, client
 * certificates, responses of proxies, and incomplete responses. Tests script all responses.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";

import { listening } from "../kit/listening.ts";

export interface RegistryStandIn extends AsyncDisposable {
  /** The URL, with 127.0.0.1 as its host. */
  readonly url: string;
  /** The requests, such as `GET /schemas/ids/7`, in order. */
  readonly asked: readonly string[];
  readonly authorizations: readonly (string | undefined)[];
}

export type Responding = (request: IncomingMessage, response: ServerResponse) => void;

/** @param tls if not set, plain HTTP. */
export async function registryStandIn(
  respond: Responding,
  tls?: ServerOptions,
): Promise<RegistryStandIn> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const listener: Responding = (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    authorizations.push(request.headers.authorization);
    respond(request, response);
  };
  const server: Server = tls ? createTlsServer(tls, listener) : createServer(listener);
  const { port, [Symbol.asyncDispose]: dispose } = await listening(server);
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    asked,
    authorizations,
    [Symbol.asyncDispose]: dispose,
  };
}

export function respondWithJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/vnd.schemaregistry.v1+json" });
  response.end(JSON.stringify(body));
}
