/**
 * Which records a pull is about.
 *
 *   a record of its destination that     retry   cancel
 *   was written before the pull          yes     if its call was received before the cancel's time
 *   was written later, and was           no      the same: it was in an attempt, or came back just
 *     attempted before the pull                  then
 *   was written later, and never         no      no: it is new, or a replay
 *     attempted before
 *   says no time of writing              no      no
 *
 * A retry is about what was parked before it, so that no delivery goes around without a delay. The
 * answer is the same for ever: it says whether a record has left its partition.
 */

import type { DestinationId } from "../domain/ids.ts";
import type { EarlyRelease } from "./operator-actions.ts";

/** A delivery as a record says it. */
export interface Releasable {
  readonly destination: DestinationId;
  /** Of the record. */
  readonly timestampMs: number;
  readonly receivedAtMs: number;
  /** Null: it was never attempted. */
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

/** The cancel that a record falls under; null: none. */
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

/** One sentence for its dead letter. */
export function cancelledText({ by, atMs }: EarlyRelease): string {
  return `cancelled by ${by} at ${new Date(atMs).toISOString()}`;
}
