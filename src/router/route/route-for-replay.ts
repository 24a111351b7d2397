/**
 * Routes a record of `calls` again for one destination, as `switchyard replay` does, with the functions of the route
 * stage and the current rules. The first row that applies decides.
 *
 *   the record                                           result
 *   is outside the requested time                        filtered: time
 *   is not a valid call (`route-record.ts`)              invalid, with the reason; it is a dead letter already, so no second
 *                                                        one is written
 *   has a type that was not requested                    filtered: type
 *   is not a track call with a requested event           filtered: event
 *   is for a suppressed user                             skipped: suppressed
 *   is not for the destination (`route.ts`), or its      skipped, with the reason
 *   rules skip it
 *   any other                                            written, as the route stage writes it (`delivery-records.ts`)
 */

import type { CallType } from "../../domain/call.ts";
import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import type { Destination } from "../../domain/destination.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import type { Reason } from "./route.ts";
import { explained, readCall, routeCall } from "./route-record.ts";
import type { Routing } from "./routing.ts";

export interface AskedCalls {
  /** Only records with this timestamp or a later one are routed. */
  readonly sinceMs: number;
  /** Only records with an earlier timestamp are routed; null for no limit. */
  readonly untilMs: number | null;
  /** If empty, all types are routed. The same applies to `events`. */
  readonly types: readonly CallType[];
  readonly events: readonly string[];
}

export type RoutedAgain =
  | { readonly kind: "written"; readonly outgoing: OutgoingRecord }
  | { readonly kind: "skipped"; readonly reason: Reason }
  | { readonly kind: "invalid"; readonly reason: DeadLetterReason }
  | { readonly kind: "filtered"; readonly reason: "time" | "type" | "event" };

/**
 * @param routing a routing that contains only this destination.
 * @param nowMs used if the record has no valid time.
 */
export function routeAgain(
  record: IncomingRecord,
  { sinceMs, untilMs, types, events }: AskedCalls,
  routing: Routing,
  destination: Destination,
  nowMs: number,
  suppressions: KnownSuppressions | null = null,
): RoutedAgain {
  const { timestampMs } = record;
  if (timestampMs < sinceMs || (untilMs !== null && timestampMs >= untilMs)) {
    return { kind: "filtered", reason: "time" };
  }
  if (record.omitted !== undefined) return { kind: "invalid", reason: "too-large" };
  const read = readCall(record, routing.lookup, nowMs);
  if (read.kind === "refused") return { kind: "invalid", reason: read.reason };
  const { call } = read;
  if (types.length > 0 && !types.includes(call.type)) {
    return { kind: "filtered", reason: "type" };
  }
  if (events.length > 0 && !(call.type === "track" && events.includes(call.event))) {
    return { kind: "filtered", reason: "event" };
  }
  const routed = routeCall(record, read, routing, suppressions);
  const [outgoing] = routed.records;
  if (outgoing === undefined) {
    const [decision] = explained(call, routed, [destination]);
    return { kind: "skipped", reason: decision?.reason ?? "not-connected" };
  }
  return { kind: "written", outgoing };
}
