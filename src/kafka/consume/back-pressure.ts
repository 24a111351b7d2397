/**
 * Hands fetched records over as there is room, and stops fetching when there is none.
 *
 *   whenFull   while something fetched is not handed over     again when
 *   hold       its partition is not fetched, and the others   all of it is handed over
 *              are only looked at now and then
 *   ... of a   only that partition is not fetched             and half of what is allowed is free
 *   passing topic
 *   pause      its partition is not fetched                   and half of what is allowed is free
 *   any, and it is    only that partition is not fetched      all of it is handed over; with `pause`
 *   not admitted yet                                          and passing topics as above
 *
 * While `hold` holds a broker's fetch loop, the partitions that it leads and that pass, or of which
 * everything is handed over, are looked at now and then. Without that, a partition whose fetch brought
 * much would keep the others waiting until all of it is finished.
 *
 *   since the last look         the next look is          and the broker may wait
 *   something was finished      250 ms after it           not at all: the others go on any moment
 *   nothing was                 250 ms after it           a second for a record
 *
 * Between two calls of a partition's `take` others run: a fetch can hold 100,000 tiny records. The
 * partition with the fewest bytes in flight comes first: where partitions share their room, the one that
 * has the most would take what it gives back again and again.
 */

import type { Signal } from "../../runtime/signal.ts";
import type { FetchOnly, IsWanted, Member } from "../membership.ts";
import { POLL_PAUSED_MS } from "./consumer-times.ts";
import type { OwnedPartition } from "./owned-partition.ts";

/** Between looks while fetching stands still and no heartbeat is due, or none can be sent. */
const WAIT_MIN_MS = 100;
const LOOK_EVERY_MS = 250;
const LOOK_WAIT_MAX_MS = 1_000;

/** The partitions that a fetch loop may fetch. */
export type Room =
  | { readonly kind: "all" }
  /** These alone; the broker may wait so long for a record. */
  | ({ readonly kind: "some" } & FetchOnly);

const ALL: Room = { kind: "all" };

interface Look {
  readonly atMs: number;
  /** How often something had been finished. */
  readonly finishes: number;
}

interface BackPressureOptions {
  readonly whenFull: "hold" | "pause";
  readonly pollMs: number;
  readonly heartbeatMs: number;
  /** Fired when fetching may go on. */
  readonly wake: Signal;
}

const NEVER: Look = { atMs: Number.NEGATIVE_INFINITY, finishes: -1 };

export class BackPressure {
  readonly #options: BackPressureOptions;
  #member: Member | null = null;
  #owned: readonly OwnedPartition[] = [];
  #isScheduled = false;
  #finishes = 0;
  /** By broker: the last look at some of its partitions. */
  readonly #looks = new Map<string, Look>();

  constructor(options: BackPressureOptions) {
    this.#options = options;
  }

  /** No partition stays paused from before: the driver keeps that over rebalances. */
  own(member: Member, owned: readonly OwnedPartition[]): void {
    member.resumeAll();
    member.pollMs = this.#options.pollMs;
    this.#member = member;
    this.#owned = owned;
  }

  /** Hands nothing more over. */
  stop(): void {
    this.#owned = [];
  }

  /** There may be room again. */
  finished(): void {
    this.#finishes += 1;
    if (this.#isScheduled) return;
    if (this.#owned.some((owned) => isWorthALook(owned))) this.#soon();
  }

  /** A record may be handed over that had to wait. */
  admits(): void {
    this.#soon();
  }

  /** Hands over what there is room for, at most 1,000 records of each partition at once. */
  handOver(): void {
    let hasMore = false;
    const waiting = this.#owned.filter(({ hasBacklog }) => hasBacklog);
    if (waiting.length > 1) waiting.sort((one, other) => one.inFlightBytes - other.inFlightBytes);
    for (const owned of waiting) if (owned.handOver() === "more") hasMore = true;
    const isResumed = this.#pauseAndResume();
    if (hasMore) this.#soon();
    else if (isResumed || !this.#isStalled()) this.#options.wake.fire();
  }

  /**
   * Waits until fetching makes sense, or until the partitions are given up; heartbeats meanwhile.
   * Throws the heartbeat's errors: the group is rebalancing, or the coordinator is gone.
   */
  async room(member: Member, nodeId: string): Promise<Room> {
    while (this.#isStalled()) {
      const lookMs = this.#untilLook(member, nodeId);
      if (lookMs <= 0) return this.#look(nodeId);
      await this.#options.wake.wait(Math.min(this.#untilHeartbeat(member), lookMs));
      if (this.#isStalled()) await member.heartbeat(this.#options.heartbeatMs);
    }
    return ALL;
  }

  /** Whether `room` would have all fetched at once. */
  hasRoom(): boolean {
    return !this.#isStalled();
  }

  #untilLook(member: Member, nodeId: string): number {
    if (!this.#owned.some(isLookedAt)) return Number.POSITIVE_INFINITY;
    if (!member.readsFrom(nodeId, this.#isLookedAt)) return Number.POSITIVE_INFINITY;
    const { atMs } = this.#looks.get(nodeId) ?? NEVER;
    const leftMs = atMs + LOOK_EVERY_MS - Date.now();
    // A clock that was set back would stop the looks until it is there again.
    return leftMs > LOOK_EVERY_MS ? 0 : leftMs;
  }

  #look(nodeId: string): Room {
    const { finishes } = this.#looks.get(nodeId) ?? NEVER;
    this.#looks.set(nodeId, { atMs: Date.now(), finishes: this.#finishes });
    const isMoving = finishes !== this.#finishes;
    const maxWaitMs = isMoving ? 0 : LOOK_WAIT_MAX_MS;
    return { kind: "some", isWanted: this.#isLookedAt, maxWaitMs };
  }

  readonly #isLookedAt: IsWanted = (topic, partition) =>
    this.#owned.some(
      (owned) => owned.topic === topic && owned.partition === partition && isLookedAt(owned),
    );

  /** Waking up before that would be for nothing: most consumers stand still most of the time. */
  #untilHeartbeat({ heardAtMs }: Member): number {
    const { heartbeatMs } = this.#options;
    const leftMs = heardAtMs + heartbeatMs - Date.now();
    return Math.min(heartbeatMs, Math.max(WAIT_MIN_MS, leftMs));
  }

  #isStalled(): boolean {
    if (this.#options.whenFull === "hold" && this.#owned.some(holds)) return true;
    return this.#owned.length > 0 && this.#owned.every(({ isPaused }) => isPaused);
  }

  #soon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.handOver();
    });
  }

  /** Returns whether any goes on. */
  #pauseAndResume(): boolean {
    const member = this.#member;
    if (member === null) return false;
    let isResumed = false;
    for (const owned of this.#owned) {
      const { topic, partition } = owned;
      const isHeld = this.#options.whenFull === "hold" && !owned.passes;
      if (isHeld && !owned.isPaused && !owned.isWaiting) continue;
      if (!owned.isPaused && owned.hasBacklog) {
        owned.isPaused = true;
        member.pause(topic, partition);
      } else if (owned.isPaused && !owned.hasBacklog && (isHeld || owned.isHalfEmpty)) {
        owned.isPaused = false;
        isResumed = true;
        member.resume(topic, partition);
      }
    }
    const isAnyPaused = this.#owned.some(({ isPaused }) => isPaused);
    member.pollMs = isAnyPaused ? POLL_PAUSED_MS : this.#options.pollMs;
    return isResumed;
  }
}

/** With `hold`: whether no other partition may be fetched because of it. */
function holds({ hasBacklog, passes, isWaiting }: OwnedPartition): boolean {
  return hasBacklog && !passes && !isWaiting;
}

/** With `hold`: whether it is fetched although another partition holds the loop. */
function isLookedAt({ hasBacklog, passes, isPaused }: OwnedPartition): boolean {
  return !isPaused && (passes || !hasBacklog);
}

/**
 * Handing records over one by one costs more than waiting for a few. So an eighth of what is allowed
 * has to be free before the next ones are handed over.
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
