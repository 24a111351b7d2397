/** Sources and destinations as the configuration states them, already checked. */

import { createHash } from "node:crypto";

import type { DestinationId, EndpointKey, SourceId } from "./ids.ts";
import type { DestinationRules } from "./rules.ts";

export interface Source {
  readonly id: SourceId;
  /** Secret. Several during a rotation; none if the source has no write key. */
  readonly writeKeys: readonly string[];
  /** In the order of the configuration; each is configured. */
  readonly destinations: readonly DestinationId[];
  /** Limit of ingest; null: none. */
  readonly callsPerSecond: number | null;
  /** If true, ingest corrects timestamps from devices whose clock is wrong. */
  readonly correctClock: boolean;
}

export interface Endpoint {
  readonly key: EndpointKey;
  /** Complete, as written in the configuration. All but its host may be secret. */
  readonly url: string;
}

/** Absent rules change nothing. */
interface DestinationBase extends Partial<DestinationRules> {
  readonly id: DestinationId;
  /** Its type, by the name in the table of `destinations/index.ts`. */
  readonly kind: string;
  /** The integration name, case-sensitive; `Webhooks` by default for webhooks. */
  readonly name: string;
  readonly enabled: boolean;
  /** False: the destination gets the time of receipt instead of the call's own. */
  readonly historical: boolean;
  /** Partitions of its topic; null: `kafka.partitions`. */
  readonly partitions: number | null;
  /** If true, the deletion stage notifies it of deletions. */
  readonly getsDeletions: boolean;
}

/** Only its topic is written; other consumers read it. */
export interface WrittenDestination extends DestinationBase {
  readonly isAttempted: false;
}

/** The deliver stage attempts its deliveries: it has endpoints, and can be paused. */
export interface AttemptedDestination extends DestinationBase {
  readonly isAttempted: true;
  /** At least one, each URL once. */
  readonly endpoints: readonly Endpoint[];
  readonly deliver: "any" | "every";
  /** Nothing is sent; deliveries wait in its queue. */
  readonly paused: boolean;
  /** Deliveries that this process attempts at the same time. At least 1. */
  readonly concurrency: number;
  /** Null: no limit. */
  readonly requestsPerSecond: number | null;
  /** If true, requests have the call's trace, if it is known. */
  readonly traceparent: boolean;
}

export type Destination = AttemptedDestination | WrittenDestination;

export function isAttempted(destination: Destination): destination is AttemptedDestination {
  return destination.isAttempted;
}

/** The first 16 hex digits of the SHA-256 of the URL. */
export function endpointKey(url: string): EndpointKey {
  return createHash("sha256").update(url).digest("hex").slice(0, 16) as EndpointKey;
}
