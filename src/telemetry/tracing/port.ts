/**
 * Traces, as stages see them. Only spans of traces that are kept are begun, so that what is not kept
 * costs nothing.
 *
 *   work                                    its span
 *   belongs to a trace that is kept         is begun, in that trace or with a link to it
 *   belongs to a trace that is not kept     is not begun
 *   begins here (no trace is known)         is begun if `isKept` says so, once for the trace
 */

import type { RecordPlace } from "../../domain/record.ts";
import type { TraceContext } from "../../domain/trace-context.ts";

export type SpanKind = "internal" | "server" | "client" | "consumer";

type Attribute = string | number | boolean | readonly string[];
/** By names of OpenTelemetry's semantic conventions, or `switchyard.*`. */
export type Attributes = Readonly<Record<string, Attribute>>;

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly attributes: Attributes;
  /** The span becomes its child; absent or null: it begins a trace. */
  readonly parent?: TraceContext | null;
  /** Spans of other traces that led to it. */
  readonly links?: readonly TraceContext[];
}

export interface Span {
  /** For spans and records that follow from it. */
  readonly context: TraceContext;
  set(attributes: Attributes): void;
  /** Once. @param error a short name of what went wrong; null: nothing. */
  end(endMs: number, error?: string | null): void;
}

export interface Tracing {
  /** Whether a trace that begins now is kept. Ask once for each. */
  isKept(): boolean;
  begin(start: SpanStart): Span;
  /** The context of work whose trace is not kept. @param parent null: it begins the trace. */
  notKept(parent: TraceContext | null): TraceContext;
}

/**
 * The attributes by which a stage's span names its record, by OpenTelemetry's semantic
 * conventions for messaging systems, version 1.45.
 *
 * @param operation what the stage does, in one word.
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
