/**
 * What happens to a record on `calls`, decided by the functions of the route stage. The functions of the deliver stage make its
 * requests, from the same delivery records that the route stage would write. Nothing is sent.
 */

import assert from "node:assert/strict";

import type { Config } from "../../config/config.ts";
import type { RetryPolicy } from "../../deliver/choose-retry-delay.ts";
import { holdCause, OPEN_GATES, prepare } from "../../deliver/prepare.ts";
import { typeOf } from "../../destinations/index.ts";
import type { Preview } from "../../destinations/port.ts";
import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import type { AttemptedDestination, Destination } from "../../domain/destination.ts";
import { endpointNames } from "../../domain/endpoint-name.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord, OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Reason } from "../../route/route.ts";
import { explained, type ReadCall, readCall, routeCall } from "../../route/route-record.ts";
import { createRouting } from "../../route/routing.ts";

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
  /** Name of the filter that skipped the call; null: none did. */
  readonly filter: string | null;
  /** Paths of the properties that the destination's rules change. */
  readonly changed: readonly string[];
  /** The delivery record that the route stage writes; null: the call is not routed to the destination. */
  readonly copy: OutgoingRecord | null;
  /** The first step of the deliver stage; null: no delivery, or the destination is not attempted. */
  readonly first: FirstStep | null;
}

export type FirstStep =
  /** One request for each endpoint. */
  | { readonly kind: "attempt"; readonly requests: readonly EndpointRequest[] }
  | { readonly kind: "dead-letter"; readonly reason: DeadLetterReason; readonly error: string }
  | { readonly kind: "retry"; readonly delayMs: number }
  /** In the queue. */
  | { readonly kind: "wait"; readonly because: "paused" | "disabled" | null };

export interface EndpointRequest extends Preview {
  readonly endpoint: EndpointKey;
  readonly endpointName: string;
}

export type Explainer = (line: Buffer, number: number, nowMs: number) => Explanation;
/** Explains a record as it is on `calls`. */
export type RecordExplainer = (record: IncomingRecord, nowMs: number) => Explanation;

type ExplainerConfig = Pick<Config, "sources" | "defaultSource" | "destinations" | "delivery">;

/** @param headers of each record, such as the source that a command names. */
export function createExplainer(
  config: ExplainerConfig,
  topics: TopicNames,
  headers: RecordHeaders = [],
): Explainer {
  const explain = createRecordExplainer(config, topics);
  return (line, number, nowMs) =>
    explain({ ...recordOf(line, number, topics.calls, nowMs), headers }, nowMs);
}

export function createRecordExplainer(
  { sources, defaultSource, destinations, delivery }: ExplainerConfig,
  topics: TopicNames,
): RecordExplainer {
  const routing = createRouting(sources, defaultSource, destinations, topics);
  return (record, nowMs) => {
    const read = readCall(record, routing.lookup, nowMs);
    if (read.kind === "refused") return { ...read, kind: "unusable" };
    const routed = routeCall(record, read, routing);
    const copies = new Map(
      routed.routes.map(({ destination }, at) => [destination, routed.records[at]]),
    );
    const decisions = explained(read.call, routed, destinations);
    return {
      kind: "call",
      read,
      destinations: decisions.map(({ destination, reason, filter, changed }) => {
        const copy = copies.get(destination.id) ?? null;
        const isDelivered = copy !== null && destination.isAttempted;
        const first = isDelivered ? firstStep(destination, copy, delivery, nowMs) : null;
        return { destination, reason, filter, changed, copy, first };
      }),
    };
  };
}

/** The line as a record of `calls`, as if written now as the first record of a partition. */
function recordOf(line: Buffer, number: number, topic: string, nowMs: number): IncomingRecord {
  const place = { topic, partition: 0, offset: number - 1 };
  return { ...place, timestampMs: nowMs, key: null, value: line, headers: [] };
}

/** As the deliver stage decides and makes requests, from the route stage's delivery record. */
export function firstStep(
  destination: AttemptedDestination,
  copy: OutgoingRecord,
  policy: RetryPolicy,
  nowMs: number,
): FirstStep {
  const record = { ...copy, headers: [...(copy.sharedHeaders ?? []), ...copy.headers] };
  const prepared = prepare(record, destination, policy, nowMs, OPEN_GATES, "line");
  switch (prepared.kind) {
    case "attempt": {
      const names = endpointNames(destination);
      const { attempts } = typeOf(destination);
      assert(attempts !== null);
      const requests = prepared.endpoints.map((each) => ({
        endpoint: each.key,
        endpointName: names.get(each.key) ?? each.key,
        ...attempts.preview(destination, [prepared], each, nowMs),
      }));
      return { kind: "attempt", requests };
    }
    case "dead-letter":
      return { kind: "dead-letter", reason: prepared.reason, error: prepared.error };
    case "unreadable":
      return { kind: "dead-letter", reason: "invalid-call", error: prepared.error };
    case "retry":
      return { kind: "retry", delayMs: prepared.delayMs };
    case "wait":
      return { kind: "wait", because: holdCause(destination) };
  }
}
