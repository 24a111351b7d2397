/**
 * Reads and writes the trace that a record belongs to, in the record's headers `traceparent` and `tracestate` (W3C
 * Trace Context, level 1). Producers may send these headers, and stages write them while tracing is on.
 *
 *   traceparent                                     the record
 *   is missing or unreadable                        belongs to no trace
 *   `00-<trace id>-<span id>-<flags>`               belongs to that trace, which is kept if the flags' last bit is 1
 *   has a later version                             the same: its start has the same meaning
 */

import { HeaderFields } from "./header-fields.ts";
import type { RecordHeader, RecordHeaders, WithHeaders } from "./record.ts";

export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** If `true`, spans of this trace are kept. */
  readonly isSampled: boolean;
  /** `tracestate` as it arrived; null if absent. */
  readonly state: string | null;
}

export const TRACE_HEADER = { parent: "traceparent", state: "tracestate" } as const;

const PARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** The specification does not require forwarding more than this. */
const STATE_MAX = 512;
const SAMPLED = 1;
/** The length of `traceparent` in version 00. */
const PARENT_BYTES = 55;
const DIGIT_0 = 0x30;
const DIGIT_A = 0x61;

const [PARENT_FIELD, STATE_FIELD] = [0, 1];
const fields = new HeaderFields([TRACE_HEADER.parent, TRACE_HEADER.state]);

/** @returns null if it is not a trace context. */
export function parseTrace(parent: string, state: string | null): TraceContext | null {
  const match = PARENT.exec(parent);
  const [, version, traceId, spanId, flags, rest] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === "00" && rest !== undefined) return null;
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED;
  const isPassedOn = state !== null && state !== "" && state.length <= STATE_MAX;
  return { traceId, spanId, isSampled, state: isPassedOn ? state : null };
}

export function traceParent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** @returns null if the record belongs to no trace. */
export function traceOf(record: WithHeaders): TraceContext | null {
  fields.read(record);
  const parent = fields.text(PARENT_FIELD);
  return parent === null ? null : parseTrace(parent, fields.text(STATE_FIELD));
}

/**
 * Returns the record's trace if the trace is kept. Most traces are not kept, and reading a single byte is enough to
 * detect that.
 *
 * @returns null if the record belongs to no trace.
 */
export function keptTraceOf(record: WithHeaders): TraceContext | "not-kept" | null {
  fields.read(record);
  const flags = fields.byteOf(PARENT_FIELD, PARENT_BYTES, PARENT_BYTES - 1);
  if (isEvenDigit(flags)) return "not-kept";
  const parent = fields.text(PARENT_FIELD);
  const trace = parent === null ? null : parseTrace(parent, fields.text(STATE_FIELD));
  return trace === null || trace.isSampled ? trace : "not-kept";
}

/** Returns true if the value of a lowercase hexadecimal digit is even. */
function isEvenDigit(byte: number): boolean {
  return byte >= DIGIT_A ? byte % 2 === 1 : byte >= DIGIT_0 && byte % 2 === 0;
}

export function traceHeaders(trace: TraceContext): readonly RecordHeader[] {
  const parent = [TRACE_HEADER.parent, Buffer.from(traceParent(trace))] as const;
  if (trace.state === null) return [parent];
  return [parent, [TRACE_HEADER.state, Buffer.from(trace.state)]];
}

/** Replaces the trace in a record's headers. If the trace is null, the headers stay unchanged. */
export function withTrace(headers: RecordHeaders, trace: TraceContext | null): RecordHeaders {
  if (trace === null) return headers;
  return [...headers.filter(([name]) => !isTraceHeader(name)), ...traceHeaders(trace)];
}

function isTraceHeader(name: string): boolean {
  return name === TRACE_HEADER.parent || name === TRACE_HEADER.state;
}
