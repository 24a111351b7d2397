/**
 * Posts traces with OpenTelemetry's library, as protobuf over OTLP/HTTP. No other file imports this library.
 *
 *   the collector          spans
 *   accepts them           are posted every 5 s, or when there are 512
 *   fails briefly          are posted again by the library, for 10 s
 *   fails for longer       are dropped and counted; a line is logged every minute
 *   hangs                  at most 2,048 wait; others are dropped. No call waits for spans
 *
 * A span may start before the process did, because a delay can start in one process and end in another.
 */

import {
  createTraceState,
  type SpanContext as OtelContext,
  SpanKind as OtelKind,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace as traces,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

import type { TraceContext } from "../../../domain/trace-context.ts";
import type { Attributes, Span, SpanKind, SpanStart, Tracing } from "./port.ts";

/** The version of the semantic conventions from which the names of spans and attributes are taken. */
export const CONVENTIONS = "1.45.0";

export interface OtlpOptions {
  /** The URL to which spans are posted, with its path. */
  readonly url: string;
  /** The values may be secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traces to keep, from 0 to 1, among those that start in this process. */
  readonly sampleRatio: number;
  readonly serviceName: string;
  readonly version: string;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
}

/** Called for each batch of spans, either with the number of posted spans or with the reason why posting failed. */
export interface OtlpWatch {
  readonly posted: (spans: number) => void;
  readonly failed: (spans: number, error: string) => void;
}

export interface ClosableTracing extends Tracing {
  /** Posts the remaining spans, for at most 2 s. Never rejects. */
  close(): Promise<void>;
}

const CLOSE_LIMIT_MS = 2_000;
/** The library's `ExportResultCode.SUCCESS`. */
const EXPORTED = 0;

const KINDS: Readonly<Record<SpanKind, OtelKind>> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
  consumer: OtelKind.CONSUMER,
};

/** The caller closes it, after the last span has ended. */
export function createOtlp(options: OtlpOptions, watch: OtlpWatch): ClosableTracing {
  const { url, headers, sampleRatio, serviceName, version, random } = options;
  // Each post opens a connection, so a new address or certificate of the collector is noticed within 5 s. Verification
  // cannot be disabled, not even with NODE_TLS_REJECT_UNAUTHORIZED.
  const httpAgentOptions = { keepAlive: false, maxCachedSessions: 0, rejectUnauthorized: true };
  const library = new OTLPTraceExporter({ url, headers: { ...headers }, httpAgentOptions });
  const exporter = watched(library, watch);
  const provider = new TracerProvider({
    // The library keeps all spans, because spans of traces that are not kept are never started.
    sampler: new AlwaysOnSampler(),
    resource: resourceOf(serviceName, version),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const ids = new RandomIdGenerator();
  const schemaUrl = `https://opentelemetry.io/schemas/${CONVENTIONS}`;
  const tracer = provider.getTracer("switchyard", version, { schemaUrl });
  return {
    isKept: () => random() < sampleRatio,
    begin: (start) => begin(tracer, start),
    notKept: (parent) => ({
      traceId: parent?.traceId ?? ids.generateTraceId(),
      spanId: ids.generateSpanId(),
      isSampled: false,
      state: parent?.state ?? null,
    }),
    close: async () => {
      const limit = AbortSignal.timeout(CLOSE_LIMIT_MS);
      const late = new Promise<void>((resolve) => {
        limit.addEventListener("abort", () => resolve(), { once: true });
      });
      // The failure has already been reported.
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

/** Values from `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_SERVICE_NAME` take precedence over these. */
function resourceOf(serviceName: string, version: string) {
  const own = { "service.name": serviceName, "service.version": version };
  const detectors = [hostDetector, serviceInstanceIdDetector, envDetector];
  return defaultResource().merge(resourceFromAttributes(own)).merge(detectResources({ detectors }));
}

function watched(exporter: SpanExporter, { posted, failed }: OtlpWatch): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.code === EXPORTED) posted(spans.length);
        else failed(spans.length, result.error?.message ?? "no reason given");
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

function begin(tracer: Tracer, start: SpanStart): Span {
  const { name, kind, startMs, attributes, parent, links = [] } = start;
  const within = parent ? traces.setSpanContext(ROOT_CONTEXT, otelOf(parent)) : ROOT_CONTEXT;
  const span = tracer.startSpan(
    name,
    {
      kind: KINDS[kind],
      startTime: startMs,
      attributes: otelAttributes(attributes),
      links: links.map((link) => ({ context: otelOf(link) })),
    },
    within,
  );
  return {
    context: contextOf(span),
    set: (more) => {
      span.setAttributes(otelAttributes(more));
    },
    end: (endMs, error = null) => {
      if (error !== null) {
        span.setAttribute("error.type", error);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(Math.max(startMs, endMs));
    },
  };
}

function otelAttributes(
  attributes: Attributes,
): Record<string, string | number | boolean | string[]> {
  const each = Object.entries(attributes).map(([name, value]) => [
    name,
    Array.isArray(value) ? [...value] : value,
  ]);
  return Object.fromEntries(each) as Record<string, string | number | boolean | string[]>;
}

function contextOf(span: OtelSpan): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0;
  return { traceId, spanId, isSampled, state: traceState?.serialize() || null };
}

function otelOf({ traceId, spanId, isSampled, state }: TraceContext): OtelContext {
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  const context = { traceId, spanId, traceFlags, isRemote: true };
  return state === null ? context : { ...context, traceState: createTraceState(state) };
}
