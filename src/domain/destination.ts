/** Sources and destinations as the configuration states them, already checked. */

import { createHash } from "node:crypto";

import type { DestinationId, EndpointKey, SourceId } from "./ids.ts";

export interface Source {
  readonly id: SourceId;
  /** Secret. Several during a rotation; none when nothing may come in by write key. */
  readonly writeKeys: readonly string[];
  /** In the order of the configuration; each is configured. */
  readonly destinations: readonly DestinationId[];
  /** Ingest's limit; null: none. */
  readonly callsPerSecond: number | null;
  /** Whether ingest sets timestamps right where the device's clock is wrong. */
  readonly correctClock: boolean;
}

export interface Endpoint {
  readonly key: EndpointKey;
  /** Complete, http or https, as written in the configuration. */
  readonly url: string;
  /** Static headers in the order of the configuration. Values may be secret. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

interface DestinationBase {
  readonly id: DestinationId;
  /** The integration name, case-sensitive; `Webhooks` by default for webhooks. */
  readonly name: string;
  readonly enabled: boolean;
  /** False: the destination gets the time of receipt in place of the call's own. */
  readonly historical: boolean;
  /** Of its topic; null: as many as others have. */
  readonly partitions: number | null;
}

/** Delivered by others: only its topic is written. */
export interface TopicDestination extends DestinationBase {
  readonly kind: "topic";
}

export interface WebhookDestination extends DestinationBase {
  readonly kind: "webhook";
  /** Secret; null: no `X-Signature`. Never empty. */
  readonly sharedSecret: string | null;
  /** Secret of before a rotation, for Standard Webhooks only. */
  readonly previousSharedSecret: string | null;
  /** 1 to 5, each URL once. */
  readonly endpoints: readonly Endpoint[];
  readonly payload: "standard" | "full";
  readonly deliver: "any" | "every";
  /** Nothing is posted; what is routed to it waits on its topic. */
  readonly paused: boolean;
  /** Deliveries in attempt at the same time in this process. At least 1. */
  readonly concurrency: number;
  /** Null: no limit. */
  readonly requestsPerSecond: number | null;
  readonly messageIdHeader: boolean;
  readonly attemptHeader: boolean;
  /** Adds the header `traceparent` where the call's trace is known. */
  readonly traceparent: boolean;
  readonly standardWebhooks: boolean;
  /** PEM texts of a client certificate (mTLS) and a private CA of this destination; null: none. */
  readonly tls: {
    readonly ca: string | null;
    readonly cert: string | null;
    readonly key: string | null;
  } | null;
}

export type Destination = WebhookDestination | TopicDestination;

/** The first 16 hex digits of the SHA-256 of the URL. */
export function endpointKey(url: string): EndpointKey {
  return createHash("sha256").update(url).digest("hex").slice(0, 16) as EndpointKey;
}
