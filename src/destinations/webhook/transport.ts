/**
 * Creates the senders of webhook destinations. `http.ts` sends the requests over real sockets. Simulations use
 * scripted endpoints instead.
 */

import assert from "node:assert/strict";
import type { AttemptedDestination } from "../../domain/destination.ts";
import type { Sendable, Sender, Transport } from "../port.ts";
import { Authorized, type Tokens } from "./authorized.ts";
import { judgeBatch, limitsOf, type MeasuredCall, measure } from "./batch.ts";
import type { HttpPort } from "./http-port.ts";
import { judge } from "./judge.ts";
import { requestTo, type SharedRequest, sharedRequest } from "./request.ts";
import type { WebhookDestination, WebhookEndpoint } from "./settings.ts";

/** @param tokens null if no destination has `auth` with `oauth2`. */
export function webhookTransport(http: HttpPort, tokens: Tokens | null = null): Transport {
  return {
    // The cast is safe because the table of types passes only destinations of its own type to a transport.
    open: (destination) => senderOf(destination as WebhookDestination, http, tokens),
    trust: (ca) => {
      tokens?.trust(ca);
      return http.trust(ca);
    },
  };
}

function senderOf(started: WebhookDestination, http: HttpPort, tokens: Tokens | null): Sender {
  const connections = new Authorized(http.open(started), started, tokens);
  let destination = started;
  return {
    limits: () => limitsOf(destination),
    measure: (sendable) => {
      assert(destination.batch !== null);
      return measure(destination, destination.batch, sendable);
    },
    nameOf: ({ batch }: SharedRequest) => batch,
    // The cast is safe because all measured calls come from `measure`.
    prepare: (unit, nowMs) => {
      return sharedRequest(destination, unit as readonly (Sendable | MeasuredCall)[], nowMs);
    },
    send: (endpoint: WebhookEndpoint, shared: SharedRequest, done, phases, traceparent) => {
      connections.send(endpoint, requestTo(endpoint, shared, traceparent), done, phases);
    },
    judge: (result, nowMs) => judge(result, nowMs, destination.auth !== null),
    judgeUnit: (result, { batch, readsResponse }: SharedRequest, nowMs) => {
      assert(batch !== null);
      const responses = readsResponse === true ? "each" : "whole";
      return judgeBatch(responses, result, batch.calls, nowMs, destination.auth !== null);
    },
    readiness: connections.readiness,
    span: ({ key, url }) => {
      // Only the origin of the URL is included, because the path can be secret.
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
