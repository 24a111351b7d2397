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
import type { DestinationId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import { parseCallFields, parseCallType } from "../domain/parse-call.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import { type NamedBy, type SourceLookup, sourceOf } from "../domain/source-of.ts";
import type { TraceContext } from "../domain/trace-context.ts";
import { type ChangedCall, copies, messageIdOf } from "./delivery-records.ts";
import { flagVerdict } from "./integrations.ts";
import {
  type Candidates,
  type Decision,
  decide,
  isYes,
  type Reason,
  receivers,
  type Skipped,
} from "./route.ts";
import type { Route, Routing } from "./routing.ts";
import { JsonValue } from "./rules/json-value.ts";
import { applyRules, consents } from "./rules/plan.ts";

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
  /** The value as JSON, and what JSON.parse made of it. */
  readonly json: Buffer;
  readonly parsed: JsonObject;
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
  /** The call's own, and the destinations that they choose from. */
  readonly integrations: JsonObject | null;
  readonly candidates: Candidates<Route> | null;
  /** What rules came to; null: no destination of the source has any. */
  readonly ruled: Ruled | null;
}

/** Only of destinations that are connected and enabled. */
export interface Ruled {
  /** Those that do not get the call, also by `integrations`. */
  readonly skipped: readonly {
    readonly destination: DestinationId;
    readonly reason: Reason;
    /** The filter that skipped it, by name. */
    readonly filter: string | null;
  }[];
  /** Paths of what rules changed in the call for a destination. */
  readonly changed: ReadonlyMap<DestinationId, readonly string[]>;
  /** Those whose rules could not be evaluated. */
  readonly failed: readonly { readonly destination: DestinationId; readonly error: string }[];
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
  const { call } = parsed;
  return { kind: "call", call, source, namedBy, times, json: decoded.bytes, parsed: typed.json };
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
  const candidates = routing.routes.get(source.id) ?? null;
  const { disabled, notConnected } = routing.skipped.get(source.id) ?? NOBODY;
  const common = {
    kind: "routed" as const,
    record,
    source,
    disabled: receivers(call.integrations, disabled),
    notConnected,
    integrations: call.integrations,
    candidates,
  };
  if (candidates !== null && routing.ruled.has(source.id)) {
    return { ...common, ...byRules(record, read, candidates.all, trace) };
  }
  const routes = candidates?.receivers(call.integrations) ?? [];
  return { ...common, routes, records: copies(record, read, routes, trace), ruled: null };
}

/** The same for destinations some of which have rules; the order of steps is that of docs/rules.md#order. */
function byRules(
  record: IncomingRecord,
  read: ReadCall,
  candidates: readonly Route[],
  trace: TraceContext | null,
): Pick<RoutedCall, "routes" | "records" | "ruled"> {
  const { call } = read;
  let value: JsonValue | null = null;
  const given = {
    call,
    json: read.parsed,
    bytes: read.json,
    messageId: messageIdOf(call, record),
    value: () => {
      value ??= JsonValue.read(read.json);
      return value;
    },
  };
  const routes: Route[] = [];
  const changes = new Map<Route, ChangedCall>();
  const changed = new Map<DestinationId, readonly string[]>();
  const skipped: Ruled["skipped"][number][] = [];
  const failed: Ruled["failed"][number][] = [];
  for (const route of candidates) {
    const { destination, rules, name } = route;
    const skip = (reason: Reason, filter: string | null = null) => {
      skipped.push({ destination, reason, filter });
    };
    if (rules !== null && !consents(rules, given)) {
      skip("no-consent");
      continue;
    }
    const verdict = flagVerdict(call.integrations, name);
    if (!isYes(verdict)) {
      skip(verdict);
      continue;
    }
    const outcome = rules === null ? null : applyRules(rules, given);
    if (outcome?.kind === "skipped") skip(outcome.reason, outcome.filter);
    else if (outcome?.kind === "failed") failed.push({ destination, error: outcome.error });
    else routes.push(route);
    if (outcome?.kind !== "changed") continue;
    changes.set(route, outcome);
    changed.set(destination, outcome.changed);
  }
  const records = copies(record, read, routes, trace, changes);
  return { routes, records, ruled: { skipped, changed, failed } };
}

export interface ExplainedDecision extends Decision {
  /** The filter that skipped the call, by name; null: none did. */
  readonly filter: string | null;
  /** Paths of what rules change in the call. */
  readonly changed: readonly string[];
}

/** Why each of `destinations` gets a call, or does not. */
export function explained(
  { integrations, source, ruled }: RoutedCall,
  destinations: readonly Destination[],
): readonly ExplainedDecision[] {
  return decide(integrations, source, destinations).map((decision) => {
    const { id } = decision.destination;
    const skip = ruled?.skipped.find(({ destination }) => destination === id);
    const isFailed = ruled?.failed.some(({ destination }) => destination === id) === true;
    const reason = isFailed ? "rule-failed" : (skip?.reason ?? decision.reason);
    const { filter = null } = skip ?? {};
    return {
      ...decision,
      gets: isYes(reason),
      reason,
      filter,
      changed: ruled?.changed.get(id) ?? [],
    };
  });
}
