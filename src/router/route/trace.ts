/**
 * Creates the span of a call in the route stage. The span starts when the call is read, and ends when all records
 * written for the call are acknowledged.
 *
 *   the record                                   span
 *   has a sampled trace                          a child of the producer's or ingest's span
 *   has a trace that is not sampled              none
 *   has no trace, and a new one is sampled       the first span of that trace
 *   has no trace, and a new one is not sampled   none
 *
 * The records written for the call contain the ID of the span, and the spans of their attempts are linked to that
 * span.
 */

import {
  type Attributes,
  kafkaAttributes,
  type Span,
  type Tracing,
} from "../../base/telemetry/tracing/port.ts";
import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { keptTraceOf, type TraceContext } from "../../domain/trace-context.ts";
import type { Routed, RoutedCall } from "./route-record.ts";

export interface RouteTraces {
  /** Routes a record. The records written for the call belong to the trace that is passed to `decide`. */
  route(
    record: IncomingRecord,
    nowMs: number,
    decide: (trace: TraceContext | null) => Routed,
  ): Routed;
  /** Called when the records written for these calls have been acknowledged. */
  written(batch: readonly Routed[], nowMs: number): void;
}

const OFF: RouteTraces = {
  route: (_record, _nowMs, decide) => decide(null),
  written: () => undefined,
};

/** @param tracing absent if tracing is off. */
export function routeTraces(tracing: Tracing | undefined, group: string): RouteTraces {
  if (tracing === undefined) return OFF;
  // If a drain discards records, their spans are discarded with them. The records are later read again from Kafka.
  const spans = new WeakMap<Routed, Span>();
  return {
    route: (record, nowMs, decide) => {
      const span = begin(tracing, record, group, nowMs);
      const routed = decide(span?.context ?? null);
      if (span !== null) spans.set(routed, span);
      return routed;
    },
    written: (batch, nowMs) => {
      for (const routed of batch) {
        const span = spans.get(routed);
        if (span !== undefined) end(span, routed, nowMs);
      }
    },
  };
}

function begin(
  tracing: Tracing,
  record: IncomingRecord,
  group: string,
  startMs: number,
): Span | null {
  const parent = keptTraceOf(record);
  if (parent === "not-kept" || (parent === null && !tracing.isKept())) return null;
  const attributes = kafkaAttributes("route", group, record);
  return tracing.begin({
    name: `route ${record.topic}`,
    kind: "consumer",
    startMs,
    attributes,
    parent,
  });
}

function end(span: Span, routed: Routed, nowMs: number): void {
  if (routed.kind === "unusable") {
    span.end(nowMs, routed.reason);
    return;
  }
  span.set({
    ...messageIdOf(routed),
    "switchyard.source": routed.from.source.id,
    "switchyard.destinations": routed.routes.map(({ destination }) => destination),
  });
  span.end(nowMs);
}

/** The message ID of the call as an attribute; no attribute if no record is written for the call. */
function messageIdOf({ records: [copy] }: RoutedCall): Attributes {
  const header = copy?.sharedHeaders?.find(([name]) => name === DELIVERY_HEADER.messageId);
  return header === undefined ? {} : { "messaging.message.id": `${header[1]}` };
}
