/**
 * Requests a token or credentials for Kafka or the registry. (Token requests of webhook destinations use the connections of
 * webhooks, which have the same limits and also check addresses.) The result is a complete response, whatever its status,
 * of at most 64 KiB and within 5 s, or an error. Redirects are not followed. Each request uses a new connection, so the
 * name is resolved and the certificate is checked each time.
 */

import { once } from "node:events";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import type { SecureContext } from "node:tls";

export interface CredentialRequest {
  readonly url: string;
  readonly method: "GET" | "POST" | "PUT";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface CredentialResponse {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: string;
}

/** If there is no complete response, rejects with an Error that contains no secret. */
export type RequestCredentials = (request: CredentialRequest) => Promise<CredentialResponse>;

const CREDENTIAL_LIMIT_MS = 5_000;
export const CREDENTIAL_MAX_BYTES = 65_536;

export async function requestCredentials(
  { url, method, headers, body = "" }: CredentialRequest,
  connecting: { readonly lookup?: LookupFunction; readonly secureContext?: SecureContext } = {},
): Promise<CredentialResponse> {
  const send = new URL(url).protocol === "https:" ? requestHttps : requestHttp;
  const limit = AbortSignal.timeout(CREDENTIAL_LIMIT_MS);
  const request = send(url, {
    method,
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
    agent: false,
    // This is set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    signal: limit,
    ...connecting,
  });
  // An error after the response is also reported by the response.
  request.on("error", () => undefined);
  request.end(body);
  try {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const { statusCode: status = 0 } = response;
    const retryAfter = response.headers["retry-after"] ?? null;
    return { status, retryAfter, body: await readBody(response) };
  } catch (cause) {
    if (!limit.aborted) throw cause;
    throw new Error(`no complete response within ${CREDENTIAL_LIMIT_MS / 1_000} s`, { cause });
  } finally {
    request.destroy();
  }
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > CREDENTIAL_MAX_BYTES) throw new Error("its response is longer than 64 KiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
