/**
 * Decides which records an early release applies to.
 *
 *   a record for its destination that    retry   cancel
 *   was written before the release       yes     if the call was received before the limit of the cancellation
 *   was written later, but was           no      under the same condition, because an attempt was in progress,
 *     attempted before the release               or the delivery had just become due
 *   was written later, and was not       no      no, because the delivery is new, or is a replay
 *     attempted before the release
 *   has no timestamp                     no      no
 *
 * A retry applies only to deliveries that were scheduled before the retry was requested, so that a delivery cannot
 * loop without a delay. The decision about a record never changes, because whether the record has left its partition
 * is also derived from it.
 */

import type { DestinationId } from "../../domain/ids.ts";
import type { EarlyRelease } from "./operator-actions.ts";

/** The fields of a delivery record that the decision needs. */
export interface Releasable {
  readonly destination: DestinationId;
  /** The timestamp of the record. */
  readonly timestampMs: number;
  readonly receivedAtMs: number;
  /** Null if the delivery was never attempted. */
  readonly firstAttemptAtMs: number | null;
}

export function isReleasedBy(earlyRelease: EarlyRelease, record: Releasable): boolean {
  const { timestampMs, receivedAtMs, firstAttemptAtMs } = record;
  if (record.destination !== earlyRelease.destination || timestampMs <= 0) return false;
  const isBefore = timestampMs < earlyRelease.atMs;
  if (earlyRelease.receivedBeforeMs === null) return isBefore;
  const wasAttempted = firstAttemptAtMs !== null && firstAttemptAtMs < earlyRelease.atMs;
  return (isBefore || wasAttempted) && receivedAtMs < earlyRelease.receivedBeforeMs;
}

/** The cancel that applies to the record, or null. */
export function cancelOf(
  earlyReleases: readonly EarlyRelease[],
  record: Releasable,
): EarlyRelease | null {
  return (
    earlyReleases.find(
      (earlyRelease) => earlyRelease.kind === "cancel" && isReleasedBy(earlyRelease, record),
    ) ?? null
  );
}

/** The error text of the dead letter. */
export function cancelledText({ by, atMs }: EarlyRelease): string {
  return `cancelled by ${by} at ${new Date(atMs).toISOString()}`;
}
