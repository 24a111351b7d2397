/** Sources and destinations as the configuration states them, already checked. */

import { createHash } from "node:crypto";

import type { DestinationId, EndpointKey, SourceId } from "./ids.ts";
import type { DestinationRules } from "./rules.ts";

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
  /** Complete, as written in the configuration. All but its host may be secret. */
  readonly url: string;
}

/** Rules that are absent ask for nothing. */
interface DestinationBase extends Partial<DestinationRules> {
  readonly id: DestinationId;
  /** Its type, by the name in the table of `destinations/index.ts`. */
  readonly kind: string;
  /** The integration name, case-sensitive; `Webhooks` by default for webhooks. */
  readonly name: string;
  readonly enabled: boolean;
  /** False: the destination gets the time of receipt instead of the call's own. */
  readonly historical: boolean;
  /** Of its topic; null: as many as others have. */
  readonly partitions: number | null;
  /** Whether the deletion stage notifies it of deletions. */
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
  /** Nothing is sent; what is routed to it waits in its queue. */
  readonly paused: boolean;
  /** Deliveries in attempt at the same time in this process. At least 1. */
  readonly concurrency: number;
  /** Null: no limit. */
  readonly requestsPerSecond: number | null;
  /** Whether requests name the call's trace, if it is known. */
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
