/** Destinations and deliveries for tests; what a test does not care about has a plain value. */

import type { Delivery } from "../../../src/domain/delivery.ts";
import {
  type Endpoint,
  endpointKey,
  type WebhookDestination,
} from "../../../src/domain/destination.ts";
import type { DestinationId, MessageId, SourceId } from "../../../src/domain/ids.ts";

export function endpointOf(url: string, headers: Endpoint["headers"] = []): Endpoint {
  return { key: endpointKey(url), url, headers };
}

interface GivenWebhook extends Omit<Partial<WebhookDestination>, "id"> {
  readonly id?: string;
  readonly urls?: readonly string[];
}

/** The only builder of one: what a new setting is in tests and benches is said here. */
export function webhookDestination(given: GivenWebhook = {}): WebhookDestination {
  const { id = "crm", urls = ["http://receiver.test/hook"], ...rest } = given;
  return {
    kind: "webhook",
    id: id as DestinationId,
    name: "Webhooks",
    enabled: true,
    paused: false,
    historical: true,
    partitions: null,
    sharedSecret: "s3cr3t",
    previousSharedSecret: null,
    endpoints: urls.map((url) => endpointOf(url)),
    payload: "standard",
    deliver: "any",
    concurrency: 64,
    requestsPerSecond: null,
    messageIdHeader: false,
    attemptHeader: false,
    traceparent: false,
    standardWebhooks: false,
    tls: null,
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
    rejected: [],
    lastOutcome: null,
    ...given,
  };
}
