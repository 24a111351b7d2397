/**
 * Creates the senders of webhook destinations. `http.ts` sends the requests over real sockets. Simulations use
 * scripted endpoints instead.
 */

import assert from "node:assert/strict";
import type { AttemptedDestination } from "../../../domain/destination.ts";
import { endpointId } from "../../../domain/endpoint-name.ts";
import type {
  Measured,
  Outcome,
  Phases,
  RequestResult,
  Sendable,
  Sender,
  SendResult,
  Transport,
  UnitLimits,
  UnitName,
  UnitVerdict,
} from "../port.ts";
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
    open: (destination) => new WebhookSender(destination as WebhookDestination, http, tokens),
    update: (egress) => {
      tokens?.update(egress);
      return http.update(egress);
    },
  };
}

class WebhookSender implements Sender<SharedRequest> {
  readonly readiness: Authorized;
  #destination: WebhookDestination;

  constructor(started: WebhookDestination, http: HttpPort, tokens: Tokens | null) {
    this.readiness = new Authorized(http.open(started), started, tokens);
    this.#destination = started;
  }

  limits(): UnitLimits | null {
    return limitsOf(this.#destination);
  }

  measure(sendable: Sendable): Measured {
    const { batch } = this.#destination;
    assert(batch !== null);
    return measure(this.#destination, batch, sendable);
  }

  nameOf({ batch }: SharedRequest): UnitName | null {
    return batch;
  }

  prepare(unit: readonly Sendable[] | readonly Measured[], nowMs: number): SharedRequest {
    // The cast is safe because all measured calls come from `measure`.
    return sharedRequest(this.#destination, unit as readonly (Sendable | MeasuredCall)[], nowMs);
  }

  send(
    endpoint: WebhookEndpoint,
    shared: SharedRequest,
    done: (result: RequestResult) => void,
    phases?: Phases,
    traceparent?: string,
  ): void {
    this.readiness.send(endpoint, requestTo(endpoint, shared, traceparent), done, phases);
  }

  judge(result: SendResult, nowMs: number): Outcome {
    return judge(result, nowMs, this.#destination.auth !== null);
  }

  judgeUnit(
    result: SendResult,
    { batch, readsResponse }: SharedRequest,
    nowMs: number,
  ): UnitVerdict {
    assert(batch !== null);
    const responses = readsResponse === true ? "each" : "whole";
    const hasAuth = this.#destination.auth !== null;
    const verdict = judgeBatch(responses, result, batch.calls, nowMs, hasAuth);
    const keepBytes = result.kind === "response" ? result.phases?.keepBytes : undefined;
    const calls = verdict.calls?.map(({ error, ...call }) => {
      if (error === null || keepBytes === undefined) return { ...call, error: null };
      return { ...call, error: this.readiness.masked(error, keepBytes) };
    });
    return { ...verdict, calls: calls ?? null };
  }

  span(endpoint: WebhookEndpoint): ReturnType<Sender["span"]> {
    // Only the origin of the URL is included, because the path can be secret.
    const { protocol, hostname, port } = new URL(endpoint.url);
    return {
      name: "POST",
      attributes: {
        "http.request.method": "POST",
        "url.scheme": protocol.slice(0, -1),
        "server.address": hostname,
        "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
        "switchyard.endpoint": endpointId(endpoint, this.#destination.endpoints),
      },
    };
  }

  update(changed: AttemptedDestination): void {
    this.#destination = changed as WebhookDestination;
    this.readiness.update(this.#destination);
  }

  close(): Promise<void> {
    return this.readiness.close();
  }
}
