/**
 * Passes on fetched records while there is room, and decides which partitions are fetched.
 *
 *   whenFull                        a partition is fetched again when
 *   hold                            all of its fetched records are passed on
 *   hold, for a passing topic       the same, and half of the limit is free
 *   pause                           the same, and half of the limit is free
 *
 * So at most one fetch of each partition waits, and no partition waits for another one. A record that is not
 * admitted yet stops its partition in the same way.
 *
 * Between two calls of a partition's `take`, other work can run, because a fetch can contain 100,000 tiny
 * records. The partition with the fewest bytes in flight comes first. Without this order, if partitions share their
 * room, the partition with the most bytes in flight would take all the room that its own records free.
 */

import type { Member } from "../membership.ts";
import type { OwnedPartition } from "./owned-partition.ts";

export class BackPressure {
  readonly #whenFull: "hold" | "pause";
  #member: Member | null = null;
  #owned: readonly OwnedPartition[] = [];
  #isScheduled = false;

  constructor(whenFull: "hold" | "pause") {
    this.#whenFull = whenFull;
  }

  own(member: Member, owned: readonly OwnedPartition[]): void {
    this.#member = member;
    this.#owned = owned;
  }

  /** Stops passing on records. */
  stop(): void {
    this.#owned = [];
  }

  /** Call when there may be room again. */
  finished(): void {
    if (this.#isScheduled) return;
    if (this.#owned.some((owned) => isWorthALook(owned))) this.#soon();
  }

  /** Called when a record that had to wait may be passed on. */
  admits(): void {
    this.#soon();
  }

  /** Passes on records while there is room, at most 1,000 of each partition at a time. */
  handOver(): void {
    let hasMore = false;
    const waiting = this.#owned.filter(({ hasBacklog }) => hasBacklog);
    if (waiting.length > 1) waiting.sort((one, other) => one.inFlightBytes - other.inFlightBytes);
    for (const owned of waiting) if (owned.handOver() === "more") hasMore = true;
    this.#pauseAndResume();
    if (hasMore) this.#soon();
  }

  #soon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.handOver();
    });
  }

  #pauseAndResume(): void {
    const member = this.#member;
    if (member === null) return;
    for (const owned of this.#owned) {
      const { topic, partition } = owned;
      if (!owned.isPaused && owned.hasBacklog) {
        owned.isPaused = true;
        member.pause(topic, partition);
      } else if (owned.isPaused && this.#isFetchedAgain(owned)) {
        owned.isPaused = false;
        member.resume(topic, partition);
      }
    }
  }

  #isFetchedAgain({ hasBacklog, passes, isHalfEmpty }: OwnedPartition): boolean {
    if (hasBacklog) return false;
    return (this.#whenFull === "hold" && !passes) || isHalfEmpty;
  }
}

/**
 * Passing on records one by one costs more than passing on several together, so an eighth of the limit has to be free
 * before more records are passed on.
 */
function isWorthALook({
  hasBacklog,
  isEighthFree,
  isPaused,
  isHalfEmpty,
  isWaiting,
}: OwnedPartition): boolean {
  if (isWaiting) return false;
  return hasBacklog ? isEighthFree : isPaused && isHalfEmpty;
}
