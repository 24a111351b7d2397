/**
 * Tracks the early releases in one partition of a delay topic while this process owns the partition. A released
 * record leaves the partition out of order, and its offset is marked as processed only later.
 *
 *   a record of an early release                        is
 *   below the offset up to which all were released      gone: it is processed when it is taken
 *   read ahead, and being written                       claimed: it is processed when it is written
 *   in flight                                           removed from the queue and written
 *   read ahead, not taken                               claimed and written
 *   not reached yet                                     left for the next step
 *
 *   an early release in this partition is
 *   over     when all records that were scheduled before it are due, or when reading has reached the log
 *            end offset at which this process first read the release, and the progress is saved. It is saved
 *            only if records left: many releases apply to few partitions
 */

import { isReleasedBy, type Releasable } from "../control/early-release.ts";
import type { OperatorActions } from "../control/operator-action-state.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";
import type { DelayedRecord } from "./due.ts";

/**
 * Because clocks differ, a record that was scheduled before the release may be due later than expected by up to this
 * much.
 */
const CLOCKS_DIFFER_MS = 60_000;

export interface ReleasedPlace {
  readonly delay: string;
  readonly partition: number;
  readonly delayMs: number;
  /** Empty while the ID is unknown. */
  readonly topicId: () => string;
}

interface ReleaseProgress {
  /** The log end offset when the release was first read; null if it has not been fetched yet. */
  to: number | null;
  through: number;
  /** True if records have left since the progress was last written to `operator-actions`. */
  isUnsaved: boolean;
}

export class ReleasedAhead {
  readonly #operatorActions: Pick<
    OperatorActions,
    "earlyReleases" | "earlyReleasesOf" | "releasedThrough"
  >;
  readonly #place: ReleasedPlace;
  /** Added when a release is first looked at; removed when it no longer exists. */
  readonly #progress = new Map<string, ReleaseProgress>();
  /** Set by `claim`, removed by `advance`: the records that are being written, by offset. */
  readonly #claims = new Map<number, Promise<void>>();

  constructor(
    operatorActions: Pick<OperatorActions, "earlyReleases" | "earlyReleasesOf" | "releasedThrough">,
    place: ReleasedPlace,
  ) {
    this.#operatorActions = operatorActions;
    this.#place = place;
  }

  /**
   * If the record has left the partition or is leaving it, returns a promise that resolves when the record is
   * written; otherwise null.
   */
  leaving(waiting: DelayedRecord): Promise<void> | null {
    const claim = this.#claims.get(waiting.record.offset);
    if (claim !== undefined) return claim;
    return this.isGone(waiting) ? Promise.resolve() : null;
  }

  isGone(waiting: DelayedRecord): boolean {
    if (waiting.kind === "invalid") return false;
    const { offset } = waiting.record;
    return this.#operatorActions
      .earlyReleasesOf(waiting.destination)
      .some(
        (earlyRelease) =>
          offset < this.through(earlyRelease) && isReleasedBy(earlyRelease, releasable(waiting)),
      );
  }

  /** The early releases that still apply to records of this partition. */
  pending(nowMs: number): readonly EarlyRelease[] {
    return this.#operatorActions.earlyReleases().filter((earlyRelease) => {
      if (nowMs >= earlyRelease.atMs + this.#place.delayMs + CLOCKS_DIFFER_MS) return false;
      const { to, isUnsaved } = this.#of(earlyRelease);
      return to === null || isUnsaved || this.through(earlyRelease) < to;
    });
  }

  through(earlyRelease: EarlyRelease): number {
    const { delay, partition, topicId } = this.#place;
    return Math.max(
      this.#progress.get(earlyRelease.id)?.through ?? 0,
      this.#operatorActions.releasedThrough(earlyRelease.id, delay, partition, topicId()),
    );
  }

  /** Returns null if the log end offset has to be fetched. */
  endOf(earlyRelease: EarlyRelease): number | null {
    return this.#of(earlyRelease).to;
  }

  setEnd(earlyRelease: EarlyRelease, end: number): void {
    this.#of(earlyRelease).to ??= end;
  }

  /** Call this when the records at these offsets are being written, although they are not in flight in the consumer. */
  claim(offsets: readonly number[], written: Promise<void>): void {
    for (const offset of offsets) this.#claims.set(offset, written);
  }

  /**
   * Call this when all records of the release below the offset are written.
   *
   * @param haveLeft false if there were none in the part that ends there.
   */
  advance(
    earlyRelease: EarlyRelease,
    offset: number,
    claimed: readonly number[],
    haveLeft: boolean,
  ): void {
    const progress = this.#of(earlyRelease);
    progress.through = Math.max(progress.through, offset);
    progress.isUnsaved ||= haveLeft;
    for (const each of claimed) this.#claims.delete(each);
  }

  isUnsaved(earlyRelease: EarlyRelease): boolean {
    return this.#of(earlyRelease).isUnsaved;
  }

  saved(earlyRelease: EarlyRelease): void {
    this.#of(earlyRelease).isUnsaved = false;
  }

  /** Returns the progress of a release, and drops the progress of releases that no longer exist. */
  #of(earlyRelease: EarlyRelease): ReleaseProgress {
    const known = this.#progress.get(earlyRelease.id);
    if (known !== undefined) return known;
    const ids = new Set(this.#operatorActions.earlyReleases().map(({ id }) => id));
    for (const id of this.#progress.keys()) if (!ids.has(id)) this.#progress.delete(id);
    const begun = { to: null, through: 0, isUnsaved: false };
    this.#progress.set(earlyRelease.id, begun);
    return begun;
  }
}

export function releasable(waiting: Extract<DelayedRecord, { kind: "waiting" }>): Releasable {
  const { destination, receivedAtMs, firstAttemptAtMs } = waiting;
  const { timestampMs } = waiting.record;
  return { destination, timestampMs, receivedAtMs, firstAttemptAtMs };
}
