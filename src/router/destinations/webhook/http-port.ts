/**
 * The interface through which webhooks use HTTP. `http.ts` implements it with real sockets. Simulations use scripted
 * endpoints instead.
 */

import type { Egress } from "../../../domain/live-settings.ts";
import type { Phases, RequestResult } from "../port.ts";
import type { WebhookRequest } from "./request.ts";
import type { WebhookDestination, WebhookEndpoint } from "./settings.ts";

export interface HttpPort {
  /** Returns the connections of one destination. They are opened on demand. The caller closes them. */
  open(destination: WebhookDestination): HttpConnections;
  /** Does the same as `update` of a transport. */
  update(egress: Egress): boolean;
}

/** The settings that connections use. */
export type Connected = Pick<WebhookDestination, "endpoints" | "tls" | "proxy">;

/** HTTP over real sockets. It needs only these settings of a destination, so the operator webhook can also use it. */
export interface RealHttp extends Omit<HttpPort, "open"> {
  open(destination: Connected): RealConnections;
}

export interface HttpConnections {
  /**
   * Sends a request in the same way as `send` of a sender, on a connection that no other request uses at the same
   * time.
   */
  send(
    endpoint: WebhookEndpoint,
    request: WebhookRequest,
    done: (result: RequestResult) => void,
    phases?: Phases,
  ): void;
  update(destination: WebhookDestination): void;
  close(): Promise<void>;
}

export interface RealConnections extends HttpConnections {
  update(destination: Connected): void;
}
