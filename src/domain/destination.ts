/** Validated sources and destinations of the configuration. */

import { createHash } from "node:crypto";

import type { DestinationId, EndpointKey, SourceId } from "./ids.ts";
import type { DestinationRules } from "./rules.ts";
import { TRACE_HEADER } from "./trace-context.ts";

export interface Source {
  readonly id: SourceId;
  /** Secret. A source has several write keys during a rotation, and may have none. */
  readonly writeKeys: readonly string[];
  /** Configured destinations, in the order of the configuration. */
  readonly destinations: readonly DestinationId[];
  /** The limit that ingest applies; null if there is none. */
  readonly callsPerSecond: number | null;
  /** If true, ingest corrects timestamps from devices whose clock is wrong. */
  readonly correctClock: boolean;
}

export interface Endpoint {
  /** Unique in the destination. Absent if the endpoint is identified by its position (`endpoint-name.ts`). */
  readonly id?: string;
  readonly key: EndpointKey;
  /** The complete URL, as written in the configuration. Everything except the host may be secret. */
  readonly url: string;
}

/** A rule that is absent has no effect. */
interface DestinationBase extends Partial<DestinationRules> {
  readonly id: DestinationId;
  /** The destination's type, as the table in `destinations/index.ts` names it. */
  readonly kind: string;
  /** The integration name, case-sensitive; `Webhooks` by default for webhooks. */
  readonly name: string;
  readonly enabled: boolean;
  /** If false, the destination gets the time at which the call was received instead of the call's own time. */
  readonly historical: boolean;
  /** Number of partitions of the destination's topic; null for `kafka.partitions`. */
  readonly partitions: number | null;
  /** If true, the deletion stage notifies the destination of deletions. */
  readonly getsDeletions: boolean;
  /** The producers' headers that the destination gets; null or absent for those that its rules allow. */
  readonly passHeaders?: readonly string[] | null;
}

/** A destination whose deliveries are only written to its topic, from which other consumers read them. */
export interface WrittenDestination extends DestinationBase {
  readonly isAttempted: false;
}

/** A destination whose deliveries the deliver stage attempts: it has endpoints, and can be paused. */
export interface AttemptedDestination extends DestinationBase {
  readonly isAttempted: true;
  /** At least one endpoint; each URL appears once. */
  readonly endpoints: readonly Endpoint[];
  readonly deliver: "any" | "every";
  /** If strict, later deliveries of a user wait behind one that awaits retry. */
  readonly order: "loose" | "strict";
  /** What follows a dead letter of a user: the user's next delivery, or nothing. Always `continue` if the order is loose. */
  readonly onDeadLetter: "continue" | "hold";
  /** If true, nothing is sent; deliveries wait in the queue. */
  readonly paused: boolean;
  /** Maximum number of deliveries that each process attempts at the same time; at least 1. */
  readonly concurrency: number;
  /** Null if requests are not limited. */
  readonly requestsPerSecond: number | null;
  /** If true, and if the call has a trace, requests contain the trace in a `traceparent` header. */
  readonly traceparent: boolean;
}

export type Destination = AttemptedDestination | WrittenDestination;

export function isAttempted(destination: Destination): destination is AttemptedDestination {
  return destination.isAttempted;
}

/** The first 16 hex digits of the SHA-256 of the URL. */
export function endpointKey(url: string): EndpointKey {
  return createHash("sha256").update(url).digest().toString("hex", 0, 8) as EndpointKey;
}

/**
 * Returns the names of the producers' headers that a destination gets; null for all. By default, a destination whose
 * rules remove or hash anything gets none, because a header may contain the same value. The headers of the trace are
 * always passed on.
 */
export function passedHeaders(destination: Destination): ReadonlySet<string> | null {
  const { passHeaders, map = [], filters = [] } = destination;
  const hides =
    map.some(({ action }) => action === "remove" || action === "hash") ||
    filters.some(({ enabled, dropProperties, allowProperties }) => {
      return enabled && dropProperties.length + allowProperties.length > 0;
    });
  if (passHeaders == null) return hides ? TRACE_HEADERS : null;
  return new Set([...passHeaders, ...TRACE_HEADERS]);
}

const TRACE_HEADERS: ReadonlySet<string> = new Set(Object.values(TRACE_HEADER));
