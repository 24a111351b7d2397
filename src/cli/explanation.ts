/**
 * What would become of a record on `calls`: judged by route's functions, its requests made by
 * deliver's from the very copies that route would write. Nothing is sent.
 */

import assert from "node:assert/strict";

import type { Config } from "../config/config.ts";
import type { WebhookRequest } from "../deliver/attempt.ts";
import { requestTo, sharedRequest } from "../deliver/request.ts";
import { parseWebhook } from "../deliver/webhook.ts";
import type { DeadLetterReason } from "../domain/dead-letter.ts";
import { parseDelivery } from "../domain/delivery.ts";
import type { Destination } from "../domain/destination.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { TopicNames } from "../domain/topics.ts";
import { decide, type Reason } from "../route/route.ts";
import { type ReadCall, readCall, routeRecord } from "../route/route-record.ts";
import { createRouting } from "../route/routing.ts";

export type Explanation =
  | { readonly kind: "unusable"; readonly reason: DeadLetterReason; readonly error: string }
  | {
      readonly kind: "call";
      readonly read: ReadCall;
      /** In the order of the configuration. */
      readonly destinations: readonly ExplainedDestination[];
    };

export interface ExplainedDestination {
  readonly destination: Destination;
  readonly reason: Reason;
  /** The record that route writes for it; null: it doesn't get the call. */
  readonly copy: OutgoingRecord | null;
  /** Of the first attempt, one for each endpoint; none for a topic destination. */
  readonly requests: readonly WebhookRequest[];
}

export type Explainer = (line: Buffer, number: number, nowMs: number) => Explanation;

type RoutingConfig = Pick<Config, "sources" | "defaultSource" | "destinations">;

export function createExplainer(
  { sources, defaultSource, destinations }: RoutingConfig,
  topics: TopicNames,
): Explainer {
  const routing = createRouting(sources, defaultSource, destinations, topics);
  return (line, number, nowMs) => {
    const record = recordOf(line, number, topics.calls, nowMs);
    const read = readCall(record, routing.lookup, nowMs);
    if (read.kind === "refused") return { ...read, kind: "unusable" };
    const routed = routeRecord(record, routing, nowMs);
    assert(routed.kind === "routed");
    const copies = new Map(
      routed.routes.map(({ destination }, at) => [destination, routed.copies[at]]),
    );
    const decisions = decide(read.call.integrations, read.source, destinations);
    return {
      kind: "call",
      read,
      destinations: decisions.map(({ destination, reason }) => {
        const copy = copies.get(destination.id) ?? null;
        const requests = copy === null ? [] : requestsFor(destination, copy, nowMs);
        return { destination, reason, copy, requests };
      }),
    };
  };
}

/** The line as it would stand on `calls`, written now as the first record of a partition. */
function recordOf(line: Buffer, number: number, topic: string, nowMs: number): IncomingRecord {
  const place = { topic, partition: 0, offset: number - 1 };
  return { ...place, timestampMs: nowMs, key: null, value: line, headers: [] };
}

/** As deliver makes them, from what it reads back of route's copy. */
function requestsFor(
  destination: Destination,
  copy: OutgoingRecord,
  nowMs: number,
): readonly WebhookRequest[] {
  if (destination.kind === "topic") return [];
  const delivery = parseDelivery([...(copy.sharedHeaders ?? []), ...copy.headers]);
  const webhook = parseWebhook(copy.value);
  assert(delivery.kind === "delivery" && webhook.kind === "webhook");
  const shared = sharedRequest(destination, webhook.webhook, delivery.delivery, nowMs);
  return destination.endpoints.map((endpoint) => requestTo(endpoint, shared));
}
