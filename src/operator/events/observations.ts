/**
 * Derives the observations of a process from the status of that process. Only the process that owns partition 0 of a
 * destination's topic reports about the destination, because other processes may observe the same problem, and would
 * report it again. The owner of an audience reports about the audience.
 *
 *   a destination, in its reporting process                         observation
 *   has been failing for at least a minute                          failing: yes
 *   has been failing for less                                       failing: unknown, because most failures end within seconds
 *   is failing, but its last attempt was accepted                   failing: unknown, because it may be recovering
 *   has accepted a delivery, and is not failing                     failing: no
 *   has not been attempted since the process started or took        failing: unknown
 *     over its partitions
 *   is on hold because it is paused                                 paused: yes
 *   is not paused                                                   paused: no
 *   has been on hold without a token for at least 10 s              token missing: yes
 *   has been on hold without a token for less                       token missing: unknown
 *   is not on hold for that reason                                  token missing: no
 *   has been on hold by its proxy                                   proxy failed: the same as for a token
 *   is on hold because its endpoints are gone                       endpoints gone: yes
 *   is not, but is paused or disabled                               all three: unknown
 *
 *   an audience, in its owner                                       observation
 *   has a sync that awaits approval                                 approval required: yes
 *   has no such sync                                                approval required: no
 *
 *   the configuration file                                          observation
 *   is invalid                                                      invalid: yes
 *   was invalid before in this process, and is now valid            invalid: no
 *   any other                                                       invalid: unknown, as another process may find it invalid
 */

import type { AudienceStatus } from "../../domain/audience.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { Observation } from "./incidents.ts";

/** A problem that lasts for less than this is not an incident. */
export const INCIDENT_AFTER_MS = 60_000;

/** The holds that are incidents, and how long they last before that. */
const HOLDS = [
  { kind: "destination.token_missing", reason: "token", afterMs: 10_000 },
  { kind: "destination.proxy_failed", reason: "proxy", afterMs: 10_000 },
  { kind: "destination.endpoints_gone", reason: "gone", afterMs: 0 },
] as const;

export interface Refused {
  readonly sinceMs: number;
  readonly problems: readonly string[];
}

export interface Seen {
  /** The destinations about which the process reports. */
  readonly destinations: readonly DestinationStatus[];
  /** Audiences that the process owns. */
  readonly audiences: readonly AudienceStatus[];
  readonly refused: Refused | null;
  /** True if the file was invalid at the previous observation by this process. */
  readonly wasRefused: boolean;
}

export function observationsOf(seen: Seen, nowMs: number): readonly Observation[] {
  const ofDestinations = seen.destinations.flatMap((status) => [
    failing(status, nowMs),
    paused(status, nowMs),
    ...HOLDS.map((kind) => onHold(status, kind, nowMs)),
  ]);
  const ofAudiences = seen.audiences.map((status) => audienceAwaitingApproval(status, nowMs));
  return [...ofDestinations, ...ofAudiences, configuration(seen, nowMs)];
}

function failing(status: DestinationStatus, nowMs: number): Observation {
  const { id, failingSince, lastAcceptedAt, last } = status;
  const base = { kind: "destination.failing", subject: id } as const;
  if (failingSince !== null) {
    const sinceMs = Date.parse(failingSince);
    const isOld = nowMs - sinceMs >= INCIDENT_AFTER_MS;
    const is = isOld && last?.outcome !== "accepted" ? "so" : "unknown";
    const known = last === null ? {} : { endpoint: last.endpoint, cause: last.cause };
    return { ...base, is, sinceMs, data: known };
  }
  if (lastAcceptedAt === null) return { ...base, is: "unknown", sinceMs: nowMs, data: {} };
  return { ...base, is: "not-so", sinceMs: Date.parse(lastAcceptedAt), data: {} };
}

function paused({ id, hold }: DestinationStatus, nowMs: number): Observation {
  const base = { kind: "destination.paused", subject: id } as const;
  if (hold?.reason !== "paused") return { ...base, is: "not-so", sinceMs: nowMs, data: {} };
  return { ...base, is: "so", sinceMs: Date.parse(hold.since), data: { until: hold.until } };
}

function onHold(
  { id, hold }: DestinationStatus,
  { kind, reason, afterMs }: (typeof HOLDS)[number],
  nowMs: number,
): Observation {
  const base = { kind, subject: id } as const;
  if (hold?.reason !== reason) {
    // While no request is due for another reason, nothing shows whether this one is over.
    const others = reason === "proxy" ? ["paused", "disabled", "token"] : ["paused", "disabled"];
    const is = others.includes(hold?.reason ?? "") ? "unknown" : "not-so";
    return { ...base, is, sinceMs: nowMs, data: {} };
  }
  const sinceMs = Date.parse(hold.since);
  const is = nowMs - sinceMs >= afterMs ? "so" : "unknown";
  return { ...base, is, sinceMs, data: hold.error === undefined ? {} : { error: hold.error } };
}

function audienceAwaitingApproval(
  { id, awaitingApproval }: AudienceStatus,
  nowMs: number,
): Observation {
  const base = { kind: "audience.approval_required", subject: id } as const;
  if (awaitingApproval === null) return { ...base, is: "not-so", sinceMs: nowMs, data: {} };
  const { syncId, removals, sinceMs } = awaitingApproval;
  return { ...base, is: "so", sinceMs, data: { sync: syncId, removals } };
}

function configuration({ refused, wasRefused }: Seen, nowMs: number): Observation {
  const base = { kind: "configuration.invalid", subject: "configuration" } as const;
  if (refused !== null) {
    const { sinceMs, problems } = refused;
    return { ...base, is: "so", sinceMs, data: { problems } };
  }
  return { ...base, is: wasRefused ? "not-so" : "unknown", sinceMs: nowMs, data: {} };
}
