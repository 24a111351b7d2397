/** What webhooks need of HTTP. `http.ts` has it with real sockets; simulations put scripted endpoints in its place. */

import type { Phases, SendResult } from "../port.ts";
import type { WebhookRequest } from "./request.ts";
import type { WebhookDestination, WebhookEndpoint } from "./settings.ts";

export interface HttpPort {
  /** The connections of one destination, made on demand. The caller closes them. */
  open(destination: WebhookDestination): HttpConnections;
  /** As a transport does. */
  trust(ca: string | null): boolean;
}

/** The settings that connections go by. */
export type Connected = Pick<WebhookDestination, "endpoints" | "tls">;

/** Real sockets need no more of a destination. An operator's webhook has no more. */
export interface RealHttp extends Omit<HttpPort, "open"> {
  open(destination: Connected): RealConnections;
}

export interface HttpConnections {
  /** As a sender does, on a connection of its own for that time. */
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
