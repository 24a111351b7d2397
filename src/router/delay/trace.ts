/**
 * Creates the span of a delay, from the time at which a retry was scheduled until the record has been returned to
 * its destination's topic. The span starts a new trace. It is linked to the failed attempt, and the next attempt is
 * linked to it. It is created only if the trace of the failed attempt is sampled.
 */

import { kafkaAttributes, type Span, type Tracing } from "../../base/telemetry/tracing/port.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { keptTraceOf, type TraceContext } from "../../domain/trace-context.ts";

/** The spans of one send. */
export interface DelayTraces {
  /** Starts the span of a record that is returned to its topic. */
  begin(record: IncomingRecord): TraceContext | null;
  /** Call when all records are written. */
  end(nowMs: number): void;
}

const OFF: DelayTraces = { begin: () => null, end: () => undefined };

/** @param tracing undefined if tracing is off. */
export function delayTraces(
  tracing: Tracing | undefined,
  delay: string,
  group: string,
): () => DelayTraces {
  if (tracing === undefined) return () => OFF;
  return () => {
    const spans: Span[] = [];
    return {
      begin: (record) => {
        const trace = keptTraceOf(record);
        if (trace === null || trace === "not-kept") return null;
        const span = tracing.begin({
          name: `delay ${delay}`,
          kind: "consumer",
          startMs: record.timestampMs,
          attributes: { ...kafkaAttributes("delay", group, record), "switchyard.delay": delay },
          links: [trace],
        });
        spans.push(span);
        return span.context;
      },
      end: (nowMs) => {
        for (const span of spans) span.end(nowMs);
      },
    };
  };
}
