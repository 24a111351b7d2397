/** Stores spans in a list. IDs are `1`, `2` and so on, padded with zeros. */

import type { Attributes, SpanStart, Tracing } from "../../../src/base/telemetry/tracing/port.ts";
import type { TraceContext } from "../../../src/domain/trace-context.ts";

export interface RecordedSpan extends SpanStart {
  readonly context: TraceContext;
  attributes: Attributes;
  endMs: number | null;
  error: string | null;
}

export interface RecordedSpans extends Tracing {
  readonly spans: readonly RecordedSpan[];
}

/** @param isKept whether traces that start here are kept. */
export function recordedSpans(isKept = true): RecordedSpans {
  const spans: RecordedSpan[] = [];
  let ids = 0;
  const id = (digits: number) => {
    ids += 1;
    return `${ids}`.padStart(digits, "0");
  };
  return {
    spans,
    isKept: () => isKept,
    notKept: (parent) => aTrace({ isSampled: false, ...(parent && { traceId: parent.traceId }) }),
    begin: (start) => {
      const { parent = null } = start;
      const traceId = parent?.traceId ?? id(32);
      const context = { traceId, spanId: id(16), isSampled: true, state: parent?.state ?? null };
      const span: RecordedSpan = { ...start, context, endMs: null, error: null };
      spans.push(span);
      return {
        context,
        set: (more) => {
          span.attributes = { ...span.attributes, ...more };
        },
        end: (endMs, error = null) => {
          span.endMs = endMs;
          span.error = error;
        },
      };
    },
  };
}

export function aTrace(given: Partial<TraceContext> = {}): TraceContext {
  const [traceId, spanId] = ["a".repeat(32), "b".repeat(16)];
  return { traceId, spanId, isSampled: true, state: null, ...given };
}
