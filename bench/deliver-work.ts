/** The work of `bench deliver`: calls of 1 KB and the webhook bodies that they become. */

import { deliveryHeaders } from "../src/domain/delivery.ts";
import type { WebhookDestination } from "../src/domain/destination.ts";
import type { DestinationId, MessageId, SourceId } from "../src/domain/ids.ts";
import type { OutgoingRecord } from "../src/domain/record.ts";
import { webhookDestination } from "../test/support/build/webhook-destination.ts";
import { benchCall } from "./route-work.ts";

export const BENCH_SECRET = "bench-secret";

/** Webhook bodies, not yet serialised: the ceiling has no JSON to parse, only to write. */
export function webhookPayloads(count: number): readonly object[] {
  return Array.from({ length: count }, (_, number) => {
    const call = JSON.parse(benchCall(number, "all").value) as Record<string, unknown>;
    const { type, userId, event, properties, timestamp } = call;
    return { version: 1, type, userId, event, properties, timestamp };
  });
}

/** Destination `d1`, `d2`, ... with one endpoint, signed, as deliver is configured by default. */
export function benchDestination(
  index: number,
  url: string,
  concurrency: number,
): WebhookDestination {
  const own = { id: `d${index + 1}`, urls: [url], sharedSecret: BENCH_SECRET };
  return webhookDestination({ ...own, concurrency });
}

/** A delivery as route writes it. */
export function benchDelivery(
  topic: string,
  index: number,
  number: number,
  { key, value } = benchCall(number, "all"),
): OutgoingRecord {
  const nowMs = Date.now();
  return {
    topic,
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers: deliveryHeaders({
      messageId: `bench-${number}` as MessageId,
      source: "bench" as SourceId,
      destination: `d${index + 1}` as DestinationId,
      timestampMs: nowMs,
      receivedAtMs: nowMs,
      endpoint: null,
      attempt: 0,
      firstAttemptAtMs: null,
      retryCount: 0,
      dueAtMs: null,
      notBeforeMs: null,
      retryTopic: null,
      rejected: [],
      lastOutcome: null,
    }),
  };
}
