/**
 * Creates the span of a request that contains calls, from the head of the request to the response. The request's
 * records contain the span's context, so that the spans of these records in the route stage become children of this
 * span.
 *
 *   the request's traceparent    parentBased    the trace is kept
 *   is absent                    either         if the sampling decides so
 *   is present                   no             if the sampling decides so; the span joins the caller's trace
 *   is present                   yes            if the traceparent requests it
 *
 * Records contain this decision even if the trace is not kept, so that the route stage does not decide again.
 */

import type { Span, Tracing } from "../../base/telemetry/tracing/port.ts";
import type { RecordHeaders } from "../../domain/record.ts";
import {
  parseTrace,
  TRACE_HEADER,
  type TraceContext,
  traceHeaders,
} from "../../domain/trace-context.ts";
import { type Answer, statusOf } from "./responses.ts";

export interface IngestTracing {
  readonly tracing: Tracing;
  /** If `true`, callers decide which of their traces are kept. */
  readonly parentBased: boolean;
}

export interface RequestTrace {
  readonly headers: RecordHeaders;
  /** @param answer null if the client has closed the connection. */
  end(answer: Answer | null, endMs: number): void;
}

/** The part of a request that appears in its span. */
export interface TracedRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: HttpHeaders;
}

type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export function traceRequest(
  { tracing, parentBased }: IngestTracing,
  request: TracedRequest,
  startMs: number,
): RequestTrace {
  const caller = callerOf(request.headers);
  const isKept = caller !== null && parentBased ? caller.isSampled : tracing.isKept();
  if (!isKept) {
    return { headers: traceHeaders(tracing.notKept(caller)), end: () => undefined };
  }
  // Only known paths reach this code. They contain nothing secret before the query.
  const [route = "/"] = (request.url ?? "/").split("?", 1);
  const method = request.method ?? "POST";
  const span = tracing.begin({
    name: `${method} ${route}`,
    kind: "server",
    startMs,
    attributes: { "http.request.method": method, "http.route": route },
    parent: caller,
  });
  return {
    headers: traceHeaders(span.context),
    end: (answer, endMs) => end(span, answer, endMs),
  };
}

function end(span: Span, answer: Answer | null, endMs: number): void {
  if (answer === null) {
    span.end(endMs, "client-closed");
    return;
  }
  const status = statusOf(answer);
  span.set({ "http.response.status_code": status });
  // A rejected request does not count as an error of the server.
  span.end(endMs, status >= 500 ? `${status}` : null);
}

function callerOf(headers: HttpHeaders): TraceContext | null {
  const [parent, state] = [headers[TRACE_HEADER.parent], headers[TRACE_HEADER.state]];
  if (typeof parent !== "string") return null;
  return parseTrace(parent, typeof state === "string" ? state : null);
}
