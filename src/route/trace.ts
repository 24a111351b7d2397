/**
 * The span of a call in route: from its reading until its copies are acknowledged.
 *
 *   the record                              its span
 *   belongs to a trace that is kept         is the child of its producer's, or of ingest's
 *   belongs to a trace that is not kept     there is none
 *   belongs to none, and the trace is kept  begins a trace
 *   belongs to none, and it is not          there is none
 *
 * Its copies name it, and the spans of their attempts are linked to it.
 */

import { DELIVERY_HEADER } from "../domain/delivery.ts";
import type { IncomingRecord } from "../domain/record.ts";
import { keptTraceOf, type TraceContext } from "../domain/trace-context.ts";
import {
  type Attributes,
  kafkaAttributes,
  type Span,
  type Tracing,
} from "../telemetry/tracing/port.ts";
import type { Routed, RoutedCall } from "./route-record.ts";

export interface RouteTraces {
  /** Routes a record, whose copies belong to the trace that `decide` is given. */
  route(
    record: IncomingRecord,
    nowMs: number,
    decide: (trace: TraceContext | null) => Routed,
  ): Routed;
  /** The records written for these are acknowledged. */
  written(batch: readonly Routed[], nowMs: number): void;
}

const OFF: RouteTraces = {
  route: (_record, _nowMs, decide) => decide(null),
  written: () => undefined,
};

/** @param tracing absent: traces are off. */
export function routeTraces(tracing: Tracing | undefined, group: string): RouteTraces {
  if (tracing === undefined) return OFF;
  // A drain drops records, and spans with them: they are read again.
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
    "switchyard.source": routed.source.id,
    "switchyard.destinations": routed.routes.map(({ destination }) => destination),
  });
  span.end(nowMs);
}

/** Of its copies; none when there are none. */
function messageIdOf({ records: [copy] }: RoutedCall): Attributes {
  const header = copy?.sharedHeaders?.find(([name]) => name === DELIVERY_HEADER.messageId);
  return header === undefined ? {} : { "messaging.message.id": `${header[1]}` };
}
