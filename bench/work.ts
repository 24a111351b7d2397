/** The work of benches: calls, their destinations, and the records that the route and deliver stages write for them. */

import { type Delivery, deliveryHeaders } from "../src/domain/delivery.ts";
import type { WrittenDestination } from "../src/domain/destination.ts";
import type { DestinationId, MessageId, SourceId } from "../src/domain/ids.ts";
import type { OutgoingRecord } from "../src/domain/record.ts";
import type { WebhookDestination } from "../src/router/destinations/webhook/settings.ts";
import { aTopicDestination } from "../test/support/build/calls.ts";
import { deliveryOf, webhookDestination } from "../test/support/build/webhook-destination.ts";
import type { WebhookSetting } from "./program.ts";

/** The number of destinations in `bench route`. */
export const DESTINATIONS = 5;
const CALL_BYTES = 1_024;
export const SECRET = "bench-secret";

interface BenchCall {
  readonly messageId: string;
  readonly integrations?: Readonly<Record<string, boolean>>;
}

/** A call as a value of `calls`, and its key. */
interface CallText {
  readonly key: string;
  readonly value: string;
}

/** Returns a call of 1 KB. If it does not name destinations, it goes to all of them. */
export function benchCall(number: number, named: readonly string[] | null = null): CallText {
  const userId = `user-${(number * 7_919) % 50_000}`;
  const properties = {
    orderId: `o-${number}`,
    total: (number % 997) / 10,
    currency: "EUR",
    note: "",
  };
  const flags = named?.map((name) => [name, true] as const) ?? [];
  const call = {
    type: "track",
    messageId: `bench-${number}`,
    userId,
    event: "Order Completed",
    timestamp: "2026-11-20T10:00:00.000Z",
    properties,
    context: { library: { name: "bench", version: "1" }, ip: "192.0.2.1" },
    ...(named === null ? {} : { integrations: { All: false, ...Object.fromEntries(flags) } }),
  };
  properties.note = "x".repeat(Math.max(0, CALL_BYTES - JSON.stringify(call).length));
  return { key: userId, value: JSON.stringify(call) };
}

export function callRecord(
  topic: string,
  number: number,
  named: readonly string[] | null = null,
): OutgoingRecord {
  return recordOf(topic, benchCall(number, named));
}

export function recordOf(topic: string, { key, value }: CallText): OutgoingRecord {
  return { topic, key: Buffer.from(key), value: Buffer.from(value), headers: [] };
}

/** Returns one to three destinations of `bench route`, two on average. */
export function twoOnAverage(number: number): readonly string[] {
  const count = 1 + (number % 3);
  return Array.from({ length: count }, (_, step) => nameOf((number + step * 2) % DESTINATIONS));
}

/** Returns true if a call of `bench route` goes to a destination. This is all the routing that the yardstick does. */
export function wants({ integrations }: BenchCall, destination: number): boolean {
  return integrations === undefined || integrations[nameOf(destination)] === true;
}

function nameOf(index: number): string {
  return `D${index + 1}`;
}

/** Returns all five destinations, in the form of the route stage's configuration. */
export function benchTopicDestinations(): readonly WrittenDestination[] {
  const indices = Array.from({ length: DESTINATIONS }, (_, index) => index);
  return indices.map((index) => aTopicDestination(idOf(index), { name: nameOf(index) }));
}

/** `d1`, `d2`, ... */
export function idOf(index: number): string {
  return `d${index + 1}`;
}

/** Returns this many destinations with the same receiver. */
export function webhooksAt(url: string, count: number, concurrency = 64): WebhookSetting[] {
  return Array.from({ length: count }, (_, index) => ({ id: idOf(index), url, concurrency }));
}

/** Returns the turn of a call that goes to `copies` of the destinations. */
export function turnOf(number: number, copies: number, destinations: number): readonly number[] {
  return Array.from({ length: copies }, (_, at) => (number * copies + at) % destinations);
}

/**
 * Returns the destination `d1` with one endpoint, with signatures, and with the default settings of the deliver stage.
 *
 * @param calls number of calls in a request; 0 if the destination has no batches.
 */
export function benchDestination(url: string, concurrency: number, calls = 0): WebhookDestination {
  const form = { bytes: 4 * 1_048_576, waitMs: 250, format: "array", responses: "whole" } as const;
  const batch = calls === 0 ? null : { calls, ...form };
  return webhookDestination({ id: "d1", urls: [url], sharedSecret: SECRET, concurrency, batch });
}

/** Returns a delivery, as the route stage writes it, for the destination at this index. */
export function benchDelivery(
  topic: string,
  index: number,
  number: number,
  { call = benchCall(number), ...more }: Partial<Delivery> & { readonly call?: CallText } = {},
): OutgoingRecord {
  const nowMs = Date.now();
  const headers = deliveryHeaders(
    deliveryOf({
      messageId: `bench-${number}` as MessageId,
      source: "bench" as SourceId,
      destination: idOf(index) as DestinationId,
      timestampMs: nowMs,
      receivedAtMs: nowMs,
      ...more,
    }),
  );
  return { ...recordOf(topic, call), headers };
}

/**
 * The work of `bench product`: a call of 1 KB, as a library in a browser sends it. A third of it is about the order,
 * and most of the rest is about the page and the browser. `payload: full` also passes this rest on.
 */
export function productCall(number: number): CallText {
  const userId = `user-${(number * 7_919) % 50_000}`;
  // The calls of a backlog have different times.
  const atMs = Date.UTC(2026, 10, 20, 10) + number * 137;
  const iso = (ms: number) => new Date(ms).toISOString();
  const call = {
    type: "track",
    messageId: `ajs-next-${atMs}-6f1c3e0a-9a55-4b1e-8d6e-${number.toString(16).padStart(12, "0")}`,
    userId,
    anonymousId: "5f1c3e0a-9a55-4b1e-8d6e-3d1e0a3b7c11",
    event: "Order Completed",
    timestamp: iso(atMs),
    sentAt: iso(atMs + 900),
    originalTimestamp: iso(atMs - 40),
    properties: {
      orderId: `o-${number}`,
      total: (number % 997) / 10,
      currency: "EUR",
      coupon: "SPRING",
      products: [
        { sku: "a-1001", name: "Kettle", price: 32.5, quantity: 1 },
        { sku: "b-2002", name: "Café cups ☕", price: 7, quantity: 4 },
      ],
    },
    context: {
      library: { name: "analytics.js", version: "2.11.1" },
      ip: "192.0.2.1",
      locale: "de-DE",
      timezone: "Europe/Berlin",
      userAgent:
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36",
      page: {
        path: "/checkout/done",
        referrer: "https://shop.example.com/checkout",
        search: "?step=4",
        title: "Thank you",
        url: "https://shop.example.com/checkout/done?step=4",
      },
      campaign: { name: "spring", source: "newsletter", medium: "email" },
    },
  };
  return { key: userId, value: JSON.stringify(call) };
}

/**
 * Returns the webhook bodies of calls, not serialized yet, because a ceiling only writes JSON and does not parse any.
 */
export function webhookPayloads(
  count: number,
  callOf: (number: number) => CallText,
  isFull: boolean,
): readonly object[] {
  return Array.from({ length: count }, (_, number) => {
    const call = JSON.parse(callOf(number).value) as Record<string, unknown>;
    const { type, userId, event, properties, timestamp, ...rest } = call;
    const standard = { version: 1, type, userId, event, properties, timestamp };
    return isFull ? { ...standard, ...rest, receivedAt: timestamp } : standard;
  });
}
