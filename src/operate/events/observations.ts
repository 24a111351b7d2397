/**
 * A process speaks of what its own status says. Of a destination only the process that owns
 * partition 0 of its topic speaks: others may see the same, and would say it a second time. Of an
 * audience its owner does.
 *
 *   a destination, at its speaker                        sighting
 *   fails since a minute                                 failing, so
 *   fails since less                                     failing, unknown: most of it is over in a moment
 *   was accepted once, and does not fail                 failing, not so
 *   was not tried since the process started, or took     failing, unknown
 *     over its partitions
 *   is held because it is paused                         paused, so
 *   is not                                               paused, not so
 *
 *   an audience, at its owner                            sighting
 *   has a sync that awaits approval                      approval required, so
 *   has none                                             approval required, not so
 *
 *   the configuration                                    sighting
 *   on disk is refused                                   refused, so
 *   was refused before, here, and is not                 refused, not so
 *   any other                                            refused, unknown: another process may see it
 */

import type { AudienceStatus } from "../../domain/audience-status.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { Observation } from "./incidents.ts";

/** Shorter trouble is no incident. */
export const INCIDENT_AFTER_MS = 60_000;

export interface Refused {
  readonly sinceMs: number;
  readonly problems: readonly string[];
}

export interface Seen {
  /** Those that the process speaks for. */
  readonly destinations: readonly DestinationStatus[];
  /** Those that it owns. */
  readonly audiences: readonly AudienceStatus[];
  readonly refused: Refused | null;
  /** It was refused at an earlier look of this process. */
  readonly wasRefused: boolean;
}

export function observationsOf(seen: Seen, nowMs: number): readonly Observation[] {
  const ofDestinations = seen.destinations.flatMap((status) => [
    failing(status, nowMs),
    paused(status, nowMs),
  ]);
  const ofAudiences = seen.audiences.map((status) => audienceAwaitingApproval(status, nowMs));
  return [...ofDestinations, ...ofAudiences, configuration(seen, nowMs)];
}

function failing(status: DestinationStatus, nowMs: number): Observation {
  const { id, failingSince, lastAcceptedAt, last } = status;
  const base = { kind: "destination.failing", subject: id } as const;
  if (failingSince !== null) {
    const sinceMs = Date.parse(failingSince);
    const is = nowMs - sinceMs >= INCIDENT_AFTER_MS ? "so" : "unknown";
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
