/** Destinations and deliveries for tests. Fields that a test does not set have simple values. */

import type { Delivery } from "../../../src/domain/delivery.ts";
import { endpointKey } from "../../../src/domain/destination.ts";
import { refTo } from "../../../src/domain/endpoint-name.ts";
import type {
  DestinationId,
  EndpointKey,
  EndpointRef,
  MessageId,
  SourceId,
} from "../../../src/domain/ids.ts";
import type { EndpointResult } from "../../../src/router/deliver/decide.ts";
import { type Content, RETRY, type Sendable } from "../../../src/router/destinations/port.ts";
import { judge } from "../../../src/router/destinations/webhook/judge.ts";
import type {
  WebhookDestination,
  WebhookEndpoint,
} from "../../../src/router/destinations/webhook/settings.ts";

export function endpointOf(url: string, headers: WebhookEndpoint["headers"] = []): WebhookEndpoint {
  return { key: endpointKey(url), url, headers };
}

interface GivenWebhook extends Omit<Partial<WebhookDestination>, "id"> {
  readonly id?: string;
  readonly urls?: readonly string[];
}

/** Builds webhook destinations for all tests and benches, so the default of a new setting is set only here. */
export function webhookDestination(given: GivenWebhook = {}): WebhookDestination {
  const { id = "crm", urls = ["http://receiver.test/hook"], ...rest } = given;
  return {
    kind: "webhook",
    isAttempted: true,
    getsDeletions: true,
    id: id as DestinationId,
    name: "Webhooks",
    enabled: true,
    paused: false,
    historical: true,
    partitions: null,
    sharedSecret: "s3cr3t",
    previousSharedSecret: null,
    signingKey: null,
    previousSigningKey: null,
    endpoints: urls.map((url) => endpointOf(url)),
    payload: "standard",
    deliver: "any",
    order: "loose",
    onDeadLetter: "continue",
    concurrency: 64,
    requestsPerSecond: null,
    auth: null,
    messageIdHeader: false,
    attemptHeader: false,
    traceparent: false,
    standardWebhooks: false,
    batch: null,
    tls: null,
    proxy: null,
    ...rest,
  };
}

export function deliveryOf(given: Partial<Delivery> = {}): Delivery {
  return {
    messageId: "m-1" as MessageId,
    source: "web" as SourceId,
    destination: "crm" as DestinationId,
    timestampMs: Date.UTC(2026, 2, 1, 9, 30, 15, 250),
    receivedAtMs: Date.UTC(2026, 2, 1, 9, 30, 16),
    endpoint: null,
    attempt: 0,
    firstAttemptAtMs: null,
    retryCount: 0,
    dueAtMs: null,
    notBeforeMs: null,
    retryTopic: null,
    accepted: [],
    rejected: [],
    lastOutcome: null,
    userHash: null,
    ...given,
  };
}

/** The references to the endpoints of a destination, in order. */
export function refsOf({ endpoints }: Pick<WebhookDestination, "endpoints">): EndpointRef[] {
  return endpoints.map((endpoint) => refTo(endpoint, endpoints));
}

/** A unit with one delivery. */
export function unitOf(content: Content, delivery: Delivery = deliveryOf()): readonly Sendable[] {
  return [{ delivery, content, text: "" }];
}

/** The result of one endpoint in an attempt, judged as for webhooks. */
export function resultAt(
  endpoint: EndpointKey,
  result: EndpointResult["result"],
  nowMs = 0,
): EndpointResult {
  return { endpoint, result, outcome: result.kind === "skipped" ? RETRY : judge(result, nowMs) };
}
