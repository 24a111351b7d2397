/**
 * Decides what is written for a record of `calls`. The checks are made in the order of the table. If a check fails,
 * the record becomes a dead letter with the reason in that row (docs/calls.md#checks).
 *
 *   check       reason
 *   bytes       undecodable, unknown-schema
 *   JSON        undecodable
 *   type        invalid-call
 *   source      unknown-source
 *   fields      invalid-call
 */

import type { Call } from "../../domain/call.ts";
import {
  type CallTimes,
  callTimes,
  type TimeField,
  usableRecordTime,
} from "../../domain/call-time.ts";
import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import type { DeadLettered } from "../../domain/dead-letter-records.ts";
import { decodeValue } from "../../domain/decode.ts";
import type { Destination, Source } from "../../domain/destination.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { parseCallFields, parseCallType, type TypedCall } from "../../domain/parse-call.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import { type NamedBy, type SourceLookup, sourceOf } from "../../domain/source-of.ts";
import type { TraceContext } from "../../domain/trace-context.ts";
import { type Identity, identityOf } from "../ledger/tallies.ts";
import { JsonValue } from "../rules/json-value.ts";
import { applyRules, consents, type RuleSkip } from "../rules/plan.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import { type ChangedCall, copies, messageIdOf } from "./delivery-records.ts";
import { decide, isYes, namedAlone, type RouteDecision, receivers } from "./route.ts";
import { type Route, type Routing, type SourceRoutes, sourceRoutes } from "./routing.ts";

/** Why a record is invalid. */
export interface Refusal {
  readonly kind: "refused";
  readonly reason: DeadLetterReason;
  /** One sentence that does not quote the value. */
  readonly error: string;
}

export interface ReadCall {
  readonly kind: "call";
  readonly call: Call;
  readonly source: Source;
  readonly namedBy: NamedBy;
  readonly times: CallTimes;
  /** The value as JSON, and the result of JSON.parse. */
  readonly json: Buffer;
  readonly parsed: JsonObject;
}

/** A record of `calls`, and the records that have to be written for it. */
export type Routed = RoutedCall | UnusableRecord;

export interface RoutedCall {
  readonly kind: "routed";
  readonly record: IncomingRecord;
  /** The identity of all deliveries of the call in the ledger. */
  readonly identity: Identity;
  readonly from: SourceRoutes;
  /** The destinations that get the call; may be empty. Calls that all candidates of a source get share one list. */
  readonly routes: readonly Route[];
  /** Disabled destinations that would get the call if they were enabled. */
  readonly disabled: readonly Destination[];
  /** The records to write. Each record is for the route with the same index. */
  readonly records: readonly OutgoingRecord[];
  /** The candidates that `integrations` exclude; null if the call has no `integrations`. */
  readonly excluded: Excluded | null;
  /** See `CallTimes`. */
  readonly unread: TimeField | null;
  /** The result of the rules; null if none of the source's destinations has rules. */
  readonly ruled: Ruled | null;
  readonly isSuppressed: boolean;
}

export interface Excluded {
  readonly byName: readonly Route[];
  /** True if `integrations` also exclude all destinations that are not named in them. */
  readonly others: boolean;
}

/** The result of the rules of those destinations that are connected and enabled. */
export interface Ruled {
  /** Destinations that do not get the call because of their rules, or because its user is suppressed. */
  readonly skipped: readonly {
    readonly route: Route;
    readonly reason: RuleSkip | "suppressed";
    /** Name of the filter that skipped the call. */
    readonly filter: string | null;
  }[];
  /**
   * The paths that each destination's rules changed in the call. `routeRecord` does not collect the paths, so the
   * map is empty in its results.
   */
  readonly changed: ReadonlyMap<DestinationId, readonly string[]>;
  /** Destinations whose rules could not be evaluated. */
  readonly failed: readonly { readonly destination: DestinationId; readonly error: string }[];
}

export interface UnusableRecord extends Pick<DeadLettered, "record" | "reason" | "error"> {
  readonly kind: "unusable";
}

/** A value that looks like a call, before the checks that depend on the configuration. */
export interface TypedValue {
  readonly kind: "value";
  readonly typed: TypedCall;
  readonly bytes: Buffer;
}

export function typedValue(record: IncomingRecord): TypedValue | Refusal {
  const decoded = decodeValue(record);
  if (decoded.kind === "refused") return decoded;
  const typed = parseCallType(decoded.json);
  if (typed.kind === "refused") return typed;
  return { kind: "value", typed, bytes: decoded.bytes };
}

/**
 * @param nowMs used if the record has no valid time.
 * @param value the decoded value of the record. It may be used for several configurations.
 */
export function readCall(
  record: IncomingRecord,
  lookup: SourceLookup,
  nowMs: number,
  value: TypedValue | Refusal = typedValue(record),
): ReadCall | Refusal {
  if (value.kind === "refused") return value;
  const { typed, bytes: json } = value;
  const found = sourceOf(record.headers, typed.json, lookup);
  if (found.kind === "refused") return found;
  const fields = parseCallFields(typed, json.length);
  if (fields.kind === "refused") return fields;
  const { call } = fields;
  const { source, namedBy } = found;
  const times = callTimes(call, usableRecordTime(record.timestampMs, nowMs));
  return { kind: "call", call, source, namedBy, times, json, parsed: typed.json };
}

/**
 * @param nowMs see `readCall`.
 * @param trace see `copies`.
 * @param suppressions null if nobody is suppressed.
 */
export function routeRecord(
  record: IncomingRecord,
  routing: Routing,
  nowMs: number,
  trace: TraceContext | null = null,
  suppressions: KnownSuppressions | null = null,
): Routed {
  const read = readCall(record, routing.lookup, nowMs);
  if (read.kind === "refused") {
    return { kind: "unusable", record, reason: read.reason, error: read.error };
  }
  return routed(record, read, routing, { trace, explains: false, suppressions });
}

export function routeCall(
  record: IncomingRecord,
  read: ReadCall,
  routing: Routing,
  suppressions: KnownSuppressions | null = null,
): RoutedCall {
  return routed(record, read, routing, { trace: null, explains: true, suppressions });
}

interface Options {
  /** See `copies`. */
  readonly trace: TraceContext | null;
  /** If true, the paths that rules change are collected. The stage does not need these paths. */
  readonly explains: boolean;
  readonly suppressions: KnownSuppressions | null;
}

type RoutedByRules = Pick<RoutedCall, "routes" | "records" | "ruled">;

function routed(
  record: IncomingRecord,
  read: ReadCall,
  routing: Routing,
  options: Options,
): RoutedCall {
  const { source } = read;
  const { integrations } = read.call;
  const from = routing.bySource.get(source.id) ?? sourceRoutes(source, [], []);
  const { candidates } = from;
  const isSuppressed = options.suppressions?.matches(read.call) === true;
  let byRules: RoutedByRules | null = null;
  if (isSuppressed) byRules = suppressed(candidates.all);
  else if (from.consenting !== null) byRules = routeByRules(record, read, from, options);
  const routes = byRules?.routes ?? candidates.receivers(integrations);
  // The result stays in memory until the brokers have acknowledged its records, so it must not refer to the parsed call
  // (docs/decisions/0007-garbage-collection.md).
  return {
    kind: "routed",
    record,
    identity: identityOf(messageIdOf(read.call, record), read.times.receivedAtMs),
    from,
    routes,
    records: byRules?.records ?? copies(record, read, from, routes, options.trace),
    disabled: isSuppressed ? [] : receivers(integrations, from.disabled),
    unread: read.times.unread,
    excluded:
      integrations === null
        ? null
        : { byName: candidates.namedFalse(integrations), others: namedAlone(integrations) },
    ruled: byRules?.ruled ?? null,
    isSuppressed,
  };
}

/** No destination gets the call, because its user is suppressed. */
function suppressed(candidates: readonly Route[]): RoutedByRules {
  const skipped = candidates.map((route) => {
    return { route, reason: "suppressed", filter: null } as const;
  });
  return { routes: [], records: [], ruled: { skipped, changed: new Map(), failed: [] } };
}

/** Routes a call for which some destinations have rules, in the order of docs/rules.md#order. */
function routeByRules(
  record: IncomingRecord,
  read: ReadCall,
  from: SourceRoutes,
  { trace, explains, suppressions }: Options,
): RoutedByRules {
  const { candidates, consenting } = from;
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
    results: new Map(),
  };
  const routes: Route[] = [];
  const changes = new Map<Route, ChangedCall>();
  const changed = new Map<DestinationId, readonly string[]>();
  const skipped: Ruled["skipped"][number][] = [];
  const failed: Ruled["failed"][number][] = [];
  const refused = new Set<Route>();
  for (const route of consenting ?? []) {
    if (route.rules === null || consents(route.rules, given)) continue;
    refused.add(route);
    skipped.push({ route, reason: "no-consent", filter: null });
  }
  for (const route of candidates.receivers(call.integrations)) {
    const { destination, rules } = route;
    if (refused.has(route)) continue;
    const outcome = rules === null ? null : applyRules(rules, given, explains);
    if (outcome?.kind === "skipped") {
      skipped.push({ route, reason: outcome.reason, filter: outcome.filter });
    } else if (outcome?.kind === "failed") {
      failed.push({ destination, error: outcome.error });
    } else {
      routes.push(route);
      if (outcome?.kind === "changed") {
        changes.set(route, outcome);
        if (explains) changed.set(destination, outcome.changed);
      }
    }
  }
  const records = copies(record, read, from, routes, trace, changes, suppressions);
  return { routes, records, ruled: { skipped, changed, failed } };
}

export interface ExplainedDecision extends RouteDecision {
  /** Name of the filter that skipped the call; null if none did. */
  readonly filter: string | null;
  /** Paths that the rules change in the call. */
  readonly changed: readonly string[];
}

/** Explains for each of the destinations why it gets the call, or why not. */
export function explained(
  { integrations }: Pick<Call, "integrations">,
  { from, ruled }: RoutedCall,
  destinations: readonly Destination[],
): readonly ExplainedDecision[] {
  return decide(integrations, from.source, destinations).map((decision) => {
    const { id } = decision.destination;
    const skip = ruled?.skipped.find(({ route }) => route.destination === id);
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
