/**
 * The spans of an attempt, and the header `traceparent` of its requests.
 *
 *   the record's trace   span of the attempt                  traceparent, if the destination has that setting
 *   is sampled           starts a trace that is linked to it  names the span of the request
 *   is not sampled       none                                 unchanged
 *   is unknown           none                                 none
 *   a batch with some    starts a trace that is linked to     names the span of the request
 *   sampled records      each of them, at most 100
 *   a batch without      none                                 none: it has several traces
 *   such a record
 *
 * Each attempt has a separate trace, because hours can pass between two attempts, and collectors wait for a trace to
 * end. The record that replaces the delivery contains the ID of the attempt's span, so that the next attempt is linked
 * to it.
 *
 *   span                from                              to
 *   deliver <topic>     the first request                 the decision
 *     POST              handing it to a connection        its result
 *       dns             the start of the lookup           its addresses
 *       connect         the addresses                     the connection
 *       tls             the connection                    the handshake
 *       wait            the request was written           the start of the response
 *       body            the start of the response         its end
 *
 * The spans `dns`, `connect` and `tls` exist only if the request opened a connection. A phase that was not completed
 * ends when the request ends.
 */

import {
  type Attributes,
  kafkaAttributes,
  type Span,
  type Tracing,
} from "../../base/telemetry/tracing/port.ts";
import type { Delivery } from "../../domain/delivery.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import {
  keptTraceOf,
  type TraceContext,
  traceOf,
  traceParent,
  withTrace,
} from "../../domain/trace-context.ts";
import type { Phases, RequestResult, Sender } from "../destinations/port.ts";
import type { DecisionName } from "./decide.ts";

/** Replaces the destination's sender for one attempt. */
export interface AttemptTrace extends Pick<Sender, "send"> {
  /**
   * Returns the record with the header that links it to this attempt. Replacements are created from the
   * returned record.
   */
  follow(record: IncomingRecord): IncomingRecord;
  end(decision: DecisionName | "not-sent", endedAtMs: number): void;
}

/** A delivery of the attempt. */
export interface TracedCall {
  readonly item: { readonly record: IncomingRecord };
  readonly delivery: Delivery;
}

/** Most collectors keep no more links per span than this. */
const LINKS_MAX = 100;

export interface TracePorts {
  /** Absent if tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly sender: Pick<Sender, "send" | "span">;
  readonly nowMs: () => number;
  /** Returns an object for the phases of a request; absent if attempts are not recorded. */
  readonly phases?: () => Phases | undefined;
  readonly group: string;
}

/**
 * @param calls at least one.
 * @param isAsked true if requests to the destination contain `traceparent`.
 * @returns null if the attempt is not traced.
 */
export function traceAttempt(
  ports: TracePorts,
  calls: readonly TracedCall[],
  isAsked: boolean,
): AttemptTrace | null {
  const { tracing, sender } = ports;
  if (tracing === undefined && !isAsked) return null;
  const [first] = calls;
  if (first === undefined) return null;
  const traces = calls.flatMap(({ item }) => knownTrace(item.record, isAsked) ?? []);
  const links = traces.filter(({ isSampled }) => isSampled).slice(0, LINKS_MAX);
  const { record } = first.item;
  if (tracing !== undefined && links.length > 0) {
    const batch = calls.length === 1 ? {} : { "messaging.batch.message_count": calls.length };
    const span = tracing.begin({
      name: `deliver ${record.topic}`,
      kind: "consumer",
      startMs: ports.nowMs(),
      attributes: { ...attributesOf(record, first.delivery, ports.group), ...batch },
      links,
    });
    return kept(ports, tracing, span, isAsked);
  }
  const [only] = traces;
  if (!isAsked || only === undefined || calls.length > 1) return null;
  const named = traceParent(only);
  return {
    send: (endpoint, prepared, done) =>
      sender.send(endpoint, prepared, done, ports.phases?.(), named),
    follow: (followed) => followed,
    end: () => undefined,
  };
}

function knownTrace(record: IncomingRecord, isAsked: boolean): TraceContext | null {
  const trace = isAsked ? traceOf(record) : keptTraceOf(record);
  return trace === "not-kept" ? null : trace;
}

function kept(ports: TracePorts, tracing: Tracing, span: Span, isAsked: boolean): AttemptTrace {
  const { sender } = ports;
  return {
    send: (endpoint, prepared, done) => {
      const startMs = ports.nowMs();
      const kind = "client";
      const parent = span.context;
      const asking = tracing.begin({ ...sender.span(endpoint), kind, startMs, parent });
      const phases: Phases = ports.phases?.() ?? {};
      const named = isAsked ? traceParent(asking.context) : undefined;
      const answered = (result: RequestResult) => {
        for (const { name, fromMs, toMs } of phaseSpans(phases, result.durationMs)) {
          const parent = asking.context;
          tracing
            .begin({ name, kind: "internal", startMs: startMs + fromMs, attributes: {}, parent })
            .end(startMs + toMs);
        }
        endRequest(asking, result, startMs + result.durationMs);
        done(result);
      };
      sender.send(endpoint, prepared, answered, phases, named);
    },
    // A batch can contain records without a trace.
    follow: (record) => {
      return knownTrace(record, isAsked)?.isSampled === true
        ? following(record, span.context)
        : record;
    },
    end: (name, endedAtMs) => {
      span.set({ "switchyard.decision": name });
      span.end(endedAtMs, name === "accepted" ? null : name);
    },
  };
}

function following(record: IncomingRecord, trace: TraceContext): IncomingRecord {
  const { topic, partition, offset, timestampMs, key, value } = record;
  const headers = withTrace(record.headers, trace);
  return { topic, partition, offset, timestampMs, key, value, headers };
}

function attributesOf(record: IncomingRecord, delivery: Delivery, group: string): Attributes {
  return {
    ...kafkaAttributes("deliver", group, record),
    "messaging.message.id": delivery.messageId,
    "switchyard.source": delivery.source,
    "switchyard.destination": delivery.destination,
    "switchyard.attempt": delivery.attempt + 1,
  };
}

function endRequest(span: Span, result: RequestResult, endMs: number): void {
  if (result.kind === "not-sent") {
    span.end(endMs, result.proxy === null ? "token" : "proxy");
    return;
  }
  if (result.kind === "no-response") {
    span.end(endMs, result.cause);
    return;
  }
  const { status } = result;
  span.set({ "http.response.status_code": status });
  span.end(endMs, status < 400 ? null : `${status}`);
}

interface PhaseSpan {
  readonly name: "dns" | "connect" | "tls" | "wait" | "body";
  readonly fromMs: number;
  readonly toMs: number;
}

/** All times are measured from the start of the request. */
export function phaseSpans(phases: Phases, durationMs: number): readonly PhaseSpan[] {
  const { openedMs, lookedUpMs, connectedMs, securedMs, sentMs, headMs } = phases;
  const isName = phases.isName === true;
  const steps = [
    ["dns", isName ? openedMs : undefined, lookedUpMs],
    ["connect", isName ? lookedUpMs : openedMs, connectedMs],
    ["tls", phases.isSecure === true ? connectedMs : undefined, securedMs],
    ["wait", sentMs, headMs],
    ["body", headMs, durationMs],
  ] as const;
  return steps.flatMap(([name, fromMs, toMs]) =>
    fromMs === undefined ? [] : { name, fromMs, toMs: toMs ?? durationMs },
  );
}
