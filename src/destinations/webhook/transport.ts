/**
 * Senders of webhook destinations. `http.ts` sends their requests for real; simulations put scripted
 * endpoints in its place.
 */

import assert from "node:assert/strict";
import type { AttemptedDestination } from "../../domain/destination.ts";
import type { Phases, Sender, SendResult, Transport } from "../port.ts";
import { judgeBatch, limitsOf, measure } from "./batch.ts";
import { judge } from "./judge.ts";
import { requestTo, type SharedRequest, sharedRequest, type WebhookRequest } from "./request.ts";
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
  open(destination: Connected): HttpConnections;
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

export function webhookTransport(http: HttpPort): Transport {
  return {
    // The table of types gives each transport its own destinations.
    open: (destination) => senderOf(destination as WebhookDestination, http),
    trust: (ca) => http.trust(ca),
  };
}

function senderOf(started: WebhookDestination, http: HttpPort): Sender {
  const connections = http.open(started);
  let destination = started;
  return {
    limits: () => limitsOf(destination),
    measure: (sendable) => {
      assert(destination.batch !== null);
      return measure(destination, destination.batch, sendable);
    },
    nameOf: ({ batch }: SharedRequest) => batch,
    prepare: (unit, nowMs) => sharedRequest(destination, unit, nowMs),
    send: (endpoint: WebhookEndpoint, shared: SharedRequest, done, phases, traceparent) => {
      connections.send(endpoint, requestTo(endpoint, shared, traceparent), done, phases);
    },
    judge,
    judgeUnit: (result, { batch, readsResponse }: SharedRequest, nowMs) => {
      assert(batch !== null);
      return judgeBatch(readsResponse === true ? "each" : "whole", result, batch.calls, nowMs);
    },
    span: ({ key, url }) => {
      // A URL's path can be a password: only its origin is named.
      const { protocol, hostname, port } = new URL(url);
      return {
        name: "POST",
        attributes: {
          "http.request.method": "POST",
          "url.scheme": protocol.slice(0, -1),
          "server.address": hostname,
          "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
          "switchyard.endpoint": key,
        },
      };
    },
    update: (changed: AttemptedDestination) => {
      destination = changed as WebhookDestination;
      connections.update(destination);
    },
    close: () => connections.close(),
  };
}
