/**
 * A record of `calls` once more, for one destination alone: what `switchyard replay` does with it. It
 * decides as route does, by the same files. The first row that fits decides.
 *
 *   the record                                     is
 *   was written before or after the time asked for filtered: time
 *   is no call (`route-record.ts`)                 invalid, with route's reason: it is a dead letter
 *                                                  already, and none is written again
 *   has another type than those asked for          filtered: type
 *   is no track, or has another event than those   filtered: event
 *     asked for
 *   is not for the destination (`route.ts`), or    skipped, with route's reason
 *     not by its rules of now
 *   any other                                      written, as route writes it (`delivery-records.ts`)
 */

import type { CallType } from "../domain/call.ts";
import type { DeadLetterReason } from "../domain/dead-letter.ts";
import type { Destination } from "../domain/destination.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { Reason } from "./route.ts";
import { explained, readCall, routeRecord } from "./route-record.ts";
import type { Routing } from "./routing.ts";

export interface AskedCalls {
  /** Written then or later, by the time of the record. */
  readonly sinceMs: number;
  /** Written before then; null: no limit. */
  readonly untilMs: number | null;
  /** Empty: all; so are events. */
  readonly types: readonly CallType[];
  readonly events: readonly string[];
}

export type RoutedAgain =
  | { readonly kind: "written"; readonly outgoing: OutgoingRecord }
  | { readonly kind: "skipped"; readonly reason: Reason }
  | { readonly kind: "invalid"; readonly reason: DeadLetterReason }
  | { readonly kind: "filtered"; readonly reason: "time" | "type" | "event" };

/**
 * @param routing made for this destination.
 * @param nowMs stands in for a record time that is none.
 */
export function routeAgain(
  record: IncomingRecord,
  { sinceMs, untilMs, types, events }: AskedCalls,
  routing: Routing,
  destination: Destination,
  nowMs: number,
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
  const routed = routeRecord(record, routing, nowMs);
  if (routed.kind === "unusable") return { kind: "invalid", reason: routed.reason };
  const [outgoing] = routed.records;
  if (outgoing === undefined) {
    const [decision] = explained(routed, [destination]);
    return { kind: "skipped", reason: decision?.reason ?? "not-connected" };
  }
  return { kind: "written", outgoing };
}
