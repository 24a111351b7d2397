/**
 * What webhooks need from HTTP. `http.ts` implements it with real sockets; simulations use scripted endpoints instead.
 */

import type { Phases, SendResult } from "../port.ts";
import type { WebhookRequest } from "./request.ts";
import type { WebhookDestination, WebhookEndpoint } from "./settings.ts";

export interface HttpPort {
  /** The connections of one destination, which are opened on demand. The caller closes them. */
  open(destination: WebhookDestination): HttpConnections;
  /** Like `trust` of a transport. */
  trust(ca: string | null): boolean;
}

/** The settings that connections use. */
export type Connected = Pick<WebhookDestination, "endpoints" | "tls">;

/** Real sockets need only these settings of a destination. An operator's webhook has no others. */
export interface RealHttp extends Omit<HttpPort, "open"> {
  open(destination: Connected): RealConnections;
}

export interface HttpConnections {
  /** Like `send` of a sender, on a connection that the request uses exclusively. */
  send(
    endpoint: WebhookEndpoint,
    request: WebhookRequest,
    done: (result: SendResult) => void,
    phases?: Phases,
  ): void;
  update(destination: WebhookDestination): void;
  close(): Promise<void>;
}

export interface RealConnections extends HttpConnections {
  update(destination: Connected): void;
}
