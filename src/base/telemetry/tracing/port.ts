/**
 * The interface through which the stages create traces. A span is started only if its trace is kept, so a trace that is
 * not kept costs nothing.
 *
 *   work                                    its span
 *   belongs to a trace that is kept         is started, in that trace or with a link to it
 *   belongs to a trace that is not kept     is not started
 *   starts a trace                          is started if `isKept` returns true; call that once per trace
 */

import type { RecordPlace } from "../../../domain/record.ts";
import type { TraceContext } from "../../../domain/trace-context.ts";

export type SpanKind = "internal" | "server" | "client" | "consumer";

type Attribute = string | number | boolean | readonly string[];
/**
 * The values of attributes, indexed by name. A name is from OpenTelemetry's semantic conventions, or starts with
 * `switchyard.`.
 */
export type Attributes = Readonly<Record<string, Attribute>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly attributes: Attributes;
  /** The parent of the span; absent or null if the span starts a trace. */
  readonly parent?: TraceContext | null;
  /** Spans of other traces that led to this span. */
  readonly links?: readonly TraceContext[];
}

export interface Span {
  /** The context to pass on to the spans and records that follow from this span. */
  readonly context: TraceContext;
  set(attributes: Attributes): void;
  /** Call this once. @param error a short name for the failure; null if there was none. */
  end(endMs: number, error?: string | null): void;
}

export interface Tracing {
  /** Decides whether a trace that starts now is kept. Call this once for each trace. */
  isKept(): boolean;
  begin(start: SpanStart): Span;
  /** Returns the context for work whose trace is not kept. @param parent null if the trace starts with this work. */
  notKept(parent: TraceContext | null): TraceContext;
}

/**
 * The attributes that identify the record of a stage's span, according to OpenTelemetry's semantic conventions for
 * messaging systems, version 1.45.
 *
 * @param operation the operation of the stage, in one word.
 */
export function kafkaAttributes(operation: string, group: string, place: RecordPlace): Attributes {
  return {
    "messaging.system": "kafka",
    "messaging.operation.type": "process",
    "messaging.operation.name": operation,
    "messaging.consumer.group.name": group,
    "messaging.destination.name": place.topic,
    "messaging.destination.partition.id": `${place.partition}`,
    "messaging.kafka.offset": place.offset,
  };
}
