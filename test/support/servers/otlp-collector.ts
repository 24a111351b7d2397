/**
 * A stand-in for an OpenTelemetry collector. It takes spans over OTLP/HTTP and decodes the protobuf itself, with the
 * field numbers of opentelemetry-proto 1.x (trace.proto, common.proto).
 */

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

import { listening } from "../kit/listening.ts";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty if the span starts a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2 means an error. */
  readonly status: number;
  /** Resource attributes of the process. */
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface OtlpCollector extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** The decompressed bodies of the requests. */
  readonly bodies: readonly Buffer[];
  readonly headers: readonly NodeJS.Dict<string | string[]>[];
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const server = createServer((request, response) => {
    buffer(request)
      .then((body) => {
        const isGzip = request.headers["content-encoding"] === "gzip";
        headers.push(request.headers);
        const bytes = isGzip ? gunzipSync(body) : body;
        bodies.push(bytes);
        spans.push(...readSpans(bytes));
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
      })
      .catch((error: unknown) => response.writeHead(400).end(String(error)));
  });
  const { port, [Symbol.asyncDispose]: dispose } = await listening(server);
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    bodies,
    headers,
    [Symbol.asyncDispose]: dispose,
  };
}

type Field = bigint | Buffer;
type Message = ReadonlyMap<number, readonly Field[]>;

const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];

/** Decodes the fields of a message, by their numbers. */
function read(bytes: Buffer): Message {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number) => {
    if (at + length > bytes.length) throw new Error("a field is longer than its message");
    at += length;
    return bytes.subarray(at - length, at);
  };
  const value = (type: number): Field => {
    if (type === VARINT) return varint();
    if (type === FIXED64) return take(8).readBigUInt64LE();
    if (type === BYTES) return take(Number(varint()));
    if (type === FIXED32) return BigInt(take(4).readUInt32LE());
    throw new Error(`no field has the type ${type}`);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = value(tag & 7);
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), field]);
  }
  return fields;
}

function messages(message: Message, field: number): readonly Message[] {
  return (message.get(field) ?? []).map((each) => read(each as Buffer));
}

function text(message: Message, field: number): string {
  return (message.get(field)?.[0] as Buffer | undefined)?.toString() ?? "";
}

function hex(message: Message, field: number): string {
  return (message.get(field)?.[0] as Buffer | undefined)?.toString("hex") ?? "";
}

function millis(message: Message, field: number): number {
  return Number(message.get(field)?.[0] ?? 0n) / 1e6;
}

function anyValue(value: Message | undefined): unknown {
  if (value === undefined) return null;
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return value.get(2)?.[0] === 1n;
  if (value.has(3)) return Number(value.get(3)?.[0]);
  if (value.has(5)) {
    return messages(value, 5).flatMap((list) => messages(list, 1).map((each) => anyValue(each)));
  }
  return null;
}

function attributes(message: Message, field: number): Readonly<Record<string, unknown>> {
  const pairs = messages(message, field);
  return Object.fromEntries(pairs.map((pair) => [text(pair, 1), anyValue(messages(pair, 2)[0])]));
}

function readSpans(body: Buffer): readonly CollectedSpan[] {
  return messages(read(body), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const of = resource === undefined ? {} : attributes(resource, 1);
    const scopes = messages(resourceSpans, 2);
    return scopes.flatMap((scope) => messages(scope, 2).map((span) => spanOf(span, of)));
  });
}

function spanOf(span: Message, resource: Readonly<Record<string, unknown>>): CollectedSpan {
  const [status] = messages(span, 15);
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentSpanId: hex(span, 4),
    name: text(span, 5),
    kind: Number(span.get(6)?.[0] ?? 0n),
    startMs: millis(span, 7),
    endMs: millis(span, 8),
    attributes: attributes(span, 9),
    links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    status: Number(status?.get(3)?.[0] ?? 0n),
    resource,
  };
}
