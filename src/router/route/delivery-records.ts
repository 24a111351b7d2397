/**
 * Creates the records that are written for a call: one for each destination that gets the call.
 *
 *   part             content
 *   key              the call's userId, or its anonymousId, even if the producer used another key; if the destination's rules
 *                    change the call, the key that they give it (`rules/plan.ts`)
 *   value            the bytes as they were received; the JSON of a value with a schema
 *                    (docs/decisions/0020-route-writes-json.md); new bytes if the destination's rules change the call
 *   shared headers   the producer's headers except `switchyard-*` and, if the value is written as JSON, the header of
 *                    the schema; the headers of the trace, if it is sampled (docs/monitor.md#traces); then message ID, source,
 *                    timestamp and time of receipt. All records share one array, so that it is encoded once
 *   headers          the destination, and the hash of the user if the value may not show who it is
 *                    (`suppression/user-header.ts`)
 *
 * Destinations with `historical: false` share a second array, in which the timestamp is the time of receipt. A
 * destination that does not get all of the producer's headers (`passedHeaders`) has an array without the others.
 */

import { type Call, callKey } from "../../domain/call.ts";
import type { CallTimes } from "../../domain/call-time.ts";
import { DELIVERY_HEADER, foreignHeaders, onlyPassed } from "../../domain/delivery.ts";
import { withoutSchema } from "../../domain/framing.ts";
import type { MessageId } from "../../domain/ids.ts";
import {
  type IncomingRecord,
  type OutgoingRecord,
  type RecordHeaders,
  recordFor,
} from "../../domain/record.ts";
import { type TraceContext, withTrace } from "../../domain/trace-context.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import type { Route, SourceRoutes } from "./routing.ts";

/**
 * The call's own message ID. If the call has none, the ID is `<topic>/<partition>/<offset>`, which is the same each
 * time the record is read.
 */
export function messageIdOf(call: Call, record: IncomingRecord): MessageId {
  return call.messageId ?? (`${record.topic}/${record.partition}/${record.offset}` as MessageId);
}

export interface CallToCopy {
  readonly call: Call;
  readonly times: CallTimes;
  readonly json: Buffer;
}

/** A call after the rules of a destination have changed it. */
export interface ChangedCall {
  readonly bytes: Buffer;
  readonly key: string;
}

/**
 * @param trace the trace to which the records belong. If null, they belong to the trace of the original record, if
 *   that has one.
 * @param changed the call as the rules of each of these routes changed it.
 * @param suppressions null if deliveries get no header with user hashes.
 */
export function copies(
  record: IncomingRecord,
  { call, times, json: value }: CallToCopy,
  { sourceHeader }: SourceRoutes,
  routes: readonly Route[],
  trace: TraceContext | null = null,
  changed: ReadonlyMap<Route, ChangedCall> | null = null,
  suppressions: Pick<KnownSuppressions, "headerOf"> | null = null,
): readonly OutgoingRecord[] {
  if (routes.length === 0) return [];
  const keyText = callKey(call);
  const key = Buffer.from(keyText);
  const messageId = Buffer.from(messageIdOf(call, record));
  const own = foreignHeaders(record);
  const foreign = withTrace(record.schema === undefined ? own : withoutSchema(own), trace);
  const headersWith = (timestampMs: number): RecordHeaders => [
    ...foreign,
    [DELIVERY_HEADER.messageId, messageId],
    sourceHeader,
    [DELIVERY_HEADER.timestamp, Buffer.from(`${timestampMs}`)],
    [DELIVERY_HEADER.receivedAt, Buffer.from(`${times.receivedAtMs}`)],
  ];
  const shared = headersWith(times.timestampMs);
  const isShared = routes.every(({ historical }) => historical);
  const sharedAtReceipt = isShared ? shared : headersWith(times.receivedAtMs);
  // Most destinations that do not get all headers get the same ones.
  let last: { all: RecordHeaders; passed: Route["passed"]; limited: RecordHeaders } | null = null;
  const limitedTo = (passed: ReadonlySet<string>, all: RecordHeaders) => {
    if (last?.all !== all || last.passed !== passed) {
      last = { all, passed, limited: onlyPassed(all, passed) };
    }
    return last.limited;
  };
  let userHash: RecordHeaders | null = null;
  const withUserHash = (headers: RecordHeaders): RecordHeaders => {
    if (userHash === null) {
      const text = suppressions?.headerOf(call) ?? null;
      userHash = text === null ? [] : [[DELIVERY_HEADER.userHash, Buffer.from(text)]];
    }
    return [...headers, ...userHash];
  };
  return routes.map((route) => {
    const { topic, historical, headers, passed } = route;
    const all = historical ? shared : sharedAtReceipt;
    const sharedHeaders = passed === null ? all : limitedTo(passed, all);
    const own = changed?.get(route);
    if (own === undefined) return recordFor(topic, key, value, headers, sharedHeaders);
    const ownKey = own.key === keyText ? key : Buffer.from(own.key);
    const isShown = own.key === keyText && call.userId !== null && call.type !== "alias";
    const ownHeaders = isShown || !route.isAttempted ? headers : withUserHash(headers);
    return recordFor(topic, ownKey, own.bytes, ownHeaders, sharedHeaders);
  });
}
