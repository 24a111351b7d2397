/**
 * The span of a request for calls: from its head until its answer. Its records name it, so that their
 * spans in route are its children.
 *
 *   the request's traceparent    callers are followed    the trace is kept
 *   none                         either                  as the sampling says
 *   is there                     no                      as the sampling says; it is the caller's trace
 *   is there                     yes                     as it says
 *
 * The records of a request whose trace is not kept say so, too: nobody decides a second time.
 */

import type { RecordHeaders } from "../domain/record.ts";
import {
  parseTrace,
  TRACE_HEADER,
  type TraceContext,
  traceHeaders,
} from "../domain/trace-context.ts";
import type { Span, Tracing } from "../telemetry/tracing/port.ts";
import { type Answer, statusOf } from "./responses.ts";

export interface IngestTracing {
  readonly tracing: Tracing;
  /** Whether callers decide which of their traces are kept. */
  readonly parentBased: boolean;
}

export interface RequestTrace {
  /** Of every record of the request. */
  readonly headers: RecordHeaders;
  /** @param answer null: the client is gone. */
  end(answer: Answer | null, endMs: number): void;
}

/** The part of a request that its span tells of. */
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
  // Of a path that is answered here: none of them holds anything secret before its query.
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
  // A refusal is no fault of the server.
  span.end(endMs, status >= 500 ? `${status}` : null);
}

function callerOf(headers: HttpHeaders): TraceContext | null {
  const [parent, state] = [headers[TRACE_HEADER.parent], headers[TRACE_HEADER.state]];
  if (typeof parent !== "string") return null;
  return parseTrace(parent, typeof state === "string" ? state : null);
}
