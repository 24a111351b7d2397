/**
 * Opens a tunnel to an endpoint through a forward proxy (CONNECT: RFC 9110, 9.3.6), and decides who is the cause if
 * there is none. The proxy resolves the endpoint's name. Inside the tunnel, everything is as without a proxy. Pure.
 *
 *   the proxy                                                is the cause
 *   cannot be found or reached, or refuses the connection    yes
 *   has another certificate than expected, or no TLS         yes
 *   ends the connection, or lets the deadline pass,          yes
 *   before it has responded to CONNECT
 *   sends more than HEAD_MAX_BYTES before its response       yes
 *   ends, or something other than a response
 *   responds 407, 403, 400 or any other status               yes
 *   responds 429 or 5xx                                      no: the endpoint is unreachable; 504: a timeout
 *   responds 2xx, with more bytes                            no: an endpoint may not speak first (`protocol`)
 *   responds 2xx                                             no: the tunnel is open
 *
 * Interim responses (1xx) are skipped, and count toward the limit. Headers and the body of a response have no meaning.
 */

import { isIPv6 } from "node:net";
import type { SecureContext } from "node:tls";

import { withoutBrackets } from "../../domain/addresses.ts";
import { InterimFilter, ResponseHead } from "./response-head.ts";

/** Maximum bytes until the end of the response to CONNECT. Each read counts as READ_BYTES more. */
const HEAD_MAX_BYTES = 16_384;
const READ_BYTES = 128;

export interface ForwardProxy {
  /** Host and port, for messages. */
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  /** The secret value of `Proxy-Authorization`; null without credentials. */
  readonly authorization: string | null;
  /** Null if the connection to the proxy has no TLS. */
  readonly secureContext: (() => SecureContext) | null;
}

/**
 * @param url valid according to the configuration (`settings/endpoint-url.ts`).
 * @param secureContext for a proxy with TLS.
 */
export function proxyOf(url: string, secureContext: () => SecureContext): ForwardProxy {
  const { protocol, hostname, port, username, password } = new URL(url);
  const isSecure = protocol === "https:";
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    name: proxyName(url),
    hostname: withoutBrackets(hostname),
    port: Number(port || (isSecure ? 443 : 80)),
    authorization: username === "" ? null : `Basic ${Buffer.from(credentials).toString("base64")}`,
    secureContext: isSecure ? secureContext : null,
  };
}

/** The host and the port of a proxy's URL, in which the URL parser omits 80 for http and 443 for https. */
export function proxyName(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** A failure of the proxy. The message is a sentence that names the proxy, and contains no secrets. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly proxy: string;

  constructor(proxy: string, what: string) {
    super(`the proxy ${proxy} ${what}`);
    this.proxy = proxy;
  }
}

type Coded = Error & { readonly code?: unknown };

export class Tunnel {
  readonly proxy: ForwardProxy;
  readonly #interim = new InterimFilter();
  readonly #head = new ResponseHead();
  readonly #authority: string;
  #bytesLeft = HEAD_MAX_BYTES;
  /** The step for which the proxy is responsible. After `done`, failures have another cause. */
  #step: "connection" | "tls" | "response" | "done" = "connection";

  constructor(proxy: ForwardProxy, hostname: string, port: number) {
    this.proxy = proxy;
    this.#authority = `${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`;
  }

  /** Call when the proxy has accepted the connection, and TLS starts. */
  startTls(): void {
    this.#step = "tls";
  }

  /** The request for the tunnel. */
  request(): string {
    this.#step = "response";
    const { authorization } = this.proxy;
    const credentials = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
    return `CONNECT ${this.#authority} HTTP/1.1\r\nHost: ${this.#authority}\r\n${credentials}\r\n`;
  }

  /** Takes the bytes of each read. Returns null if more are needed, and otherwise the error, or `open`. */
  take(bytes: Buffer): Error | "open" | null {
    this.#bytesLeft -= bytes.length + READ_BYTES;
    const final = this.#interim.take(bytes);
    const whole = final === null ? null : this.#head.take(final);
    if (whole === null) {
      return this.#bytesLeft < 0
        ? this.#error("sent too much before the end of its response")
        : null;
    }
    const read = this.#head.read();
    if (read === null) return this.#error("sent something other than a response to CONNECT");
    const { status, bytes: length } = read;
    const isEndpoints = status === 429 || (status >= 500 && status < 600);
    if (status >= 300 && !isEndpoints) return this.#error(statusText(status, this.proxy));
    this.#step = "done";
    this.#head.forget();
    if (isEndpoints) {
      const code = status === 504 ? "ETIMEDOUT" : "EHOSTUNREACH";
      return Object.assign(new Error(`the proxy responded ${status} to CONNECT`), { code });
    }
    if (whole.length === length) return "open";
    const code = "HPE_INVALID";
    return Object.assign(new Error("the endpoint sent bytes before a request"), { code });
  }

  /** The error of a connection that ended with this one. */
  ended(error: Coded): Error {
    if (this.#step === "done" || error instanceof ProxyError) return error;
    return this.#error(this.#endedText(error));
  }

  /** The failure of a request that ends now, without an error of the connection; null if the proxy is not the cause. */
  overdue(): ProxyError | null {
    return this.#step === "done" ? null : this.#error("did not respond in time");
  }

  #endedText({ code }: Coded): string {
    if (this.#step === "response") return "closed the connection before it responded to CONNECT";
    if (this.#step === "tls") return `was reached, but TLS failed (${code})`;
    return code === "ECONNREFUSED" ? "refused the connection" : `cannot be reached (${code})`;
  }

  #error(what: string): ProxyError {
    return new ProxyError(this.proxy.name, what);
  }
}

function statusText(status: number, { authorization }: ForwardProxy): string {
  if (status !== 407) return `responded ${status} to CONNECT`;
  return `requires ${authorization === null ? "" : "other "}credentials (407)`;
}
