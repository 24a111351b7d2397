/**
 * One HTTP request of an attempt, as the rest of deliver sees it: the request and its result.
 * `http.ts` sends it for real; simulations put scripted endpoints in its place.
 */

import type { Endpoint, WebhookDestination } from "../domain/destination.ts";

/** A request, complete but for Host, Connection and Content-Length, which the connection adds. */
export interface WebhookRequest {
  readonly method: "POST";
  readonly url: string;
  /** In the order sent. Values may be secret. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** Why there was no response. The list is a metric's label: it has to stay short. */
export const CAUSES = [
  "dns",
  "refused",
  "unreachable",
  "address",
  "reset",
  "timeout",
  "tls-self-signed",
  "tls-unknown-ca",
  "tls-expired",
  "tls-wrong-host",
  "tls-protocol",
  "tls",
  "protocol",
  "other",
] as const;

export type Cause = (typeof CAUSES)[number];

/** The result of one request. */
export type HttpResult =
  | {
      readonly kind: "response";
      /** 200 to 999; 1xx are skipped. */
      readonly status: number;
      /** The header `Retry-After` as sent, or null. */
      readonly retryAfter: string | null;
      readonly durationMs: number;
      readonly phases?: Phases | undefined;
    }
  | {
      readonly kind: "no-response";
      readonly cause: Cause;
      readonly durationMs: number;
      /** Those that the request was sent with. */
      readonly phases?: Phases | undefined;
    };

/** Made in one way, so that all have one shape. Pure. */
export function responded(
  status: number,
  retryAfter: string | null,
  durationMs: number,
  phases: Phases | undefined,
): HttpResult {
  return { kind: "response", status, retryAfter, durationMs, phases };
}

/**
 * How far a request has come, in milliseconds from its beginning. An absent step was not reached; the
 * first four are absent, too, where a connection was there already.
 */
export interface Phases {
  /** A socket is made, and its host looked up if it is a name. */
  openedMs?: number;
  lookedUpMs?: number;
  connectedMs?: number;
  securedMs?: number;
  /** The request was written. */
  sentMs?: number;
  /** The answer's head is there. */
  headMs?: number;
  /** Of the host of a socket that was made: it is a name. */
  isName?: boolean;
  isSecure?: boolean;
  /** So many bytes of an answer that is none of success are kept; absent: none. */
  readonly keepBytes?: number;
  /** The head of that answer. */
  kept?: Buffer[];
}

export interface HttpPort {
  /** The connections of one destination, made on demand. The caller closes them. */
  open(destination: WebhookDestination): EndpointConnections;
  /**
   * Trusts another private CA, as PEM text, for what is opened or updated from now on. Returns
   * whether it is another one.
   */
  trust(ca: string | null): boolean;
}

/** The settings that connections go by. */
export type Connected = Pick<WebhookDestination, "endpoints" | "tls">;

/** Real sockets need no more of a destination. An operator's webhook has no more. */
export interface RealHttp extends Omit<HttpPort, "open"> {
  open(destination: Connected): EndpointConnections;
}

export interface EndpointConnections {
  /**
   * Sends a request to one of the destination's endpoints at once, on a connection of its own for
   * that time. `done` is called once, never before `send` has returned, at the latest at the
   * deadline.
   *
   * @param phases filled in on the way; absent: nobody wants to know.
   */
  send(
    endpoint: Endpoint,
    request: WebhookRequest,
    done: (result: HttpResult) => void,
    phases?: Phases,
  ): void;
  /**
   * Goes over to other settings of the same destination. Connections that they do not need are closed
   * as soon as nobody uses them.
   */
  update(destination: WebhookDestination): void;
  /** Drops every connection; requests under way end as `reset`. */
  close(): Promise<void>;
}
