/**
 * A record of `calls` to what is written for it. The checks are made in this order, and the first
 * that fails refuses the record (docs/calls.md#checks).
 *
 *   check       refused as
 *   bytes       undecodable, unknown-schema
 *   JSON        undecodable
 *   type        invalid-call
 *   source      unknown-source
 *   fields      invalid-call
 */

import type { Call } from "../domain/call.ts";
import { type CallTimes, callTimes, usableRecordTime } from "../domain/call-time.ts";
import type { DeadLetterReason } from "../domain/dead-letter.ts";
import { decodeValue } from "../domain/decode.ts";
import type { Destination, Source } from "../domain/destination.ts";
import { parseCallFields, parseCallType } from "../domain/parse-call.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import { type NamedBy, type SourceLookup, sourceOf } from "../domain/source-of.ts";
import type { TraceContext } from "../domain/trace-context.ts";
import { copies } from "./delivery-records.ts";
import { receivers, type Skipped } from "./route.ts";
import type { Route, Routing } from "./routing.ts";

/** Why a record cannot be used. */
export interface Refusal {
  readonly kind: "refused";
  readonly reason: DeadLetterReason;
  /** One sentence, without any of the value. */
  readonly error: string;
}

export interface ReadCall {
  readonly kind: "call";
  readonly call: Call;
  readonly source: Source;
  readonly namedBy: NamedBy;
  readonly times: CallTimes;
  /** The value as JSON. */
  readonly json: Buffer;
}

/** A record of `calls` with what is to be written for it. */
export type Routed = RoutedCall | UnusableRecord;

export interface RoutedCall {
  readonly kind: "routed";
  readonly record: IncomingRecord;
  readonly source: Source;
  /** Where it goes, perhaps nowhere. */
  readonly routes: readonly Route[];
  /** Destinations that do not get it, and would if they were enabled. */
  readonly disabled: readonly Destination[];
  /** Destinations that get no call of its source: one list for all its calls. */
  readonly notConnected: readonly Destination[];
  /** Its copies: the one at an index is for the route at the same one. */
  readonly records: readonly OutgoingRecord[];
}

export interface UnusableRecord {
  readonly kind: "unusable";
  readonly record: IncomingRecord;
  readonly reason: DeadLetterReason;
  readonly error: string;
}

/** @param nowMs stands in for a record time that is none. */
export function readCall(
  record: IncomingRecord,
  lookup: SourceLookup,
  nowMs: number,
): ReadCall | Refusal {
  const decoded = decodeValue(record);
  if (decoded.kind === "refused") return decoded;
  const typed = parseCallType(decoded.json);
  if (typed.kind === "refused") return typed;
  const found = sourceOf(record.headers, typed.json, lookup);
  if (found.kind === "refused") return found;
  const parsed = parseCallFields(typed, decoded.bytes.length);
  if (parsed.kind === "refused") return parsed;
  const { source, namedBy } = found;
  const times = callTimes(parsed.call, usableRecordTime(record.timestampMs, nowMs));
  return { kind: "call", call: parsed.call, source, namedBy, times, json: decoded.bytes };
}

const NOBODY: Skipped = { notConnected: [], disabled: [] };

/**
 * @param nowMs see `readCall`.
 * @param trace see `copies`.
 */
export function routeRecord(
  record: IncomingRecord,
  routing: Routing,
  nowMs: number,
  trace: TraceContext | null = null,
): Routed {
  const read = readCall(record, routing.lookup, nowMs);
  if (read.kind === "refused") {
    return { kind: "unusable", record, reason: read.reason, error: read.error };
  }
  const { call, source } = read;
  const routes = routing.routes.get(source.id)?.receivers(call.integrations) ?? [];
  const { disabled, notConnected } = routing.skipped.get(source.id) ?? NOBODY;
  const records = copies(record, read, routes, trace);
  return {
    kind: "routed",
    record,
    source,
    routes,
    disabled: receivers(call.integrations, disabled),
    notConnected,
    records,
  };
}
