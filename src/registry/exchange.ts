/**
 * One request to a registry, and all that can become of it. Nothing is followed, repeated or taken
 * for something else here: `judge.ts` says what it means.
 *
 *   bound                      limit
 *   the whole exchange         5 s
 *   bytes of an answer         1 MiB
 *   connections                8 to each URL, each for one request: look-ups are rare
 */

import { Agent, errors, request, fetch as undiciFetch } from "undici";

import { secureContext } from "../http/tls.ts";
import { systemClock } from "../runtime/clock.ts";
import { TokenError, tokenSource } from "../runtime/oauth-token.ts";
import type { RegistryConnection } from "./connection.ts";

export const ANSWER_MAX_BYTES = 1_048_576;
export const EXCHANGE_LIMIT_MS = 5_000;
const CONNECTIONS = 8;
const CONTENT_TYPE = "application/vnd.schemaregistry.v1+json";

export interface Asked {
  readonly method: "GET" | "POST" | "PUT";
  /** The registry's URL and the path below it. */
  readonly url: string;
  /** As JSON; left out: no body. */
  readonly body?: unknown;
}

export type Exchanged =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** Empty: it names none. */
      readonly contentType: string;
      readonly body: string;
    }
  /** More bytes than are read. */
  | { readonly kind: "too-large"; readonly status: number; readonly contentType: string }
  /** No whole answer. The code as Node, OpenSSL or undici name it; null: it has none. */
  | { readonly kind: "failed"; readonly code: string | null }
  | { readonly kind: "timeout" }
  /** The token endpoint's fault, in a sentence: the registry was not asked. */
  | { readonly kind: "no-token"; readonly error: string };

/** Never throws. An aborted one has failed. */
export type Exchange = (asked: Asked, signal: AbortSignal) => Promise<Exchanged>;

export interface Exchanging extends AsyncDisposable {
  readonly exchange: Exchange;
  /** Those that log in. Throws `TokenError`. */
  readonly loginHeaders: () => Promise<Record<string, string>>;
}

/** The caller closes it. */
export function createExchange({ login, tls }: RegistryConnection): Exchanging {
  const connect = {
    timeout: EXCHANGE_LIMIT_MS,
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
    rejectUnauthorized: true,
    ...(tls === null ? {} : { secureContext: secureContext(tls) }),
  };
  // A connection that is kept may be closed when it is used again, which would look like an outage.
  const agent = new Agent({ connect, connections: CONNECTIONS, pipelining: 0, allowH2: false });
  const logins = loginHeaders(login, agent);
  const exchange: Exchange = async ({ method, url, body }, signal) => {
    const limit = AbortSignal.timeout(EXCHANGE_LIMIT_MS);
    try {
      const response = await request(url, {
        dispatcher: agent,
        method,
        headers: {
          accept: `${CONTENT_TYPE}, application/json`,
          ...(body === undefined ? {} : { "content-type": CONTENT_TYPE }),
          ...(await logins.headers()),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.any([signal, limit]),
      });
      const { statusCode: status } = response;
      if (status === 401) logins.refused();
      const named = response.headers["content-type"];
      const contentType = typeof named === "string" ? named : "";
      const bytes = await readBounded(response.body);
      return bytes === null
        ? { kind: "too-large", status, contentType }
        : { kind: "answer", status, contentType, body: bytes.toString() };
    } catch (error) {
      if (error instanceof TokenError) return { kind: "no-token", error: error.message };
      if (limit.aborted && !signal.aborted) return { kind: "timeout" };
      return failure(error);
    }
  };
  return { exchange, loginHeaders: logins.headers, [Symbol.asyncDispose]: () => agent.destroy() };
}

/** Null: it is longer; the connection is closed then. */
async function readBounded(body: AsyncIterable<Buffer>): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > ANSWER_MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function failure(error: unknown): Exchanged {
  const named = error instanceof Error && "code" in error ? error.code : null;
  // undici's parser names some of its errors, and all of them by this class.
  const unnamed = error instanceof errors.HTTPParserError ? "HPE_" : null;
  const code = typeof named === "string" ? named : unnamed;
  if (code === "UND_ERR_CONNECT_TIMEOUT") return { kind: "timeout" };
  return { kind: "failed", code };
}

interface LoginHeaders {
  /** Throws `TokenError`. */
  headers(): Promise<Record<string, string>>;
  /** The registry refused what it was given: a token is asked for anew. */
  refused(): void;
}

function loginHeaders(login: RegistryConnection["login"], dispatcher: Agent): LoginHeaders {
  if (login?.kind !== "oauth") {
    const fixed = Promise.resolve(fixedHeaders(login));
    return { headers: () => fixed, refused: () => undefined };
  }
  const newSource = () =>
    tokenSource(login, systemClock, (url, init) => undiciFetch(url, { ...init, dispatcher }));
  let token = newSource();
  return {
    headers: async () => ({ authorization: `Bearer ${await token()}` }),
    refused: () => {
      token = newSource();
    },
  };
}

function fixedHeaders(
  login: Exclude<RegistryConnection["login"], { readonly kind: "oauth" }>,
): Record<string, string> {
  if (login === null) return {};
  if (login.kind === "token") return { authorization: `Bearer ${login.token}` };
  const credentials = Buffer.from(`${login.username}:${login.password}`).toString("base64");
  return { authorization: `Basic ${credentials}` };
}
