/**
 * Passes on fetched records while there is room, and stops fetching when there is none.
 *
 *   whenFull   while fetched records are not passed on        fetched again when
 *   hold       that partition is not fetched, and the others  all of them are passed on
 *              are only polled from time to time
 *   ... for a  only that partition is not fetched             the same, and half of the limit is free
 *   passing topic
 *   pause      that partition is not fetched                  the same, and half of the limit is free
 *   any, while a      only that partition is not fetched      all of them are passed on; with `pause`
 *   record is not                                             and passing topics as above
 *   admitted yet
 *
 * While `hold` blocks a broker's fetch loop, the broker's other partitions are polled from time to time, if
 * they belong to a passing topic or if all of their fetched records are passed on. Otherwise a partition with
 * a large fetch would keep the others waiting until all of its records are processed.
 *
 *   since the last poll          the next poll is         and the broker may wait
 *   a record was processed       250 ms later             not at all: the others may continue at any moment
 *   no record was processed      250 ms later             a second for a record
 *
 * Between two calls of a partition's `take`, other work can run, because a fetch can contain 100,000 tiny
 * records. The partition with the fewest bytes in flight comes first. Without this order, if partitions share their
 * room, the partition with the most bytes in flight would take all the room that its own records free.
 */

import type { Signal } from "../../runtime/signal.ts";
import type { FetchOnly, IsWanted, Member } from "../membership.ts";
import { POLL_PAUSED_MS } from "./consumer-times.ts";
import type { OwnedPartition } from "./owned-partition.ts";

/** The time between checks while fetching is stopped and no heartbeat is due or can be sent. */
const WAIT_MIN_MS = 100;
const LOOK_EVERY_MS = 250;
const LOOK_WAIT_MAX_MS = 1_000;

/** The partitions that a fetch loop may fetch. */
export type Room =
  | { readonly kind: "all" }
  /** Only some partitions may be fetched; `FetchOnly` states how long the broker may wait for a record. */
  | ({ readonly kind: "some" } & FetchOnly);

const ALL: Room = { kind: "all" };

interface Look {
  readonly atMs: number;
  /** The number of records that had been processed at the time of the poll. */
  readonly finishes: number;
}

interface BackPressureOptions {
  readonly whenFull: "hold" | "pause";
  readonly pollMs: number;
  readonly heartbeatMs: number;
  /** Fired when fetching may continue. */
  readonly wake: Signal;
}

const NEVER: Look = { atMs: Number.NEGATIVE_INFINITY, finishes: -1 };

export class BackPressure {
  readonly #options: BackPressureOptions;
  #member: Member | null = null;
  #owned: readonly OwnedPartition[] = [];
  #isScheduled = false;
  #finishes = 0;
  /** For each broker, the last poll of only some of its partitions. */
  readonly #looks = new Map<string, Look>();

  constructor(options: BackPressureOptions) {
    this.#options = options;
  }

  /** Resumes all partitions, because the driver keeps pauses across rebalances. */
  own(member: Member, owned: readonly OwnedPartition[]): void {
    member.resumeAll();
    member.pollMs = this.#options.pollMs;
    this.#member = member;
    this.#owned = owned;
  }

  /** Stops passing on records. */
  stop(): void {
    this.#owned = [];
  }

  /** Call when there may be room again. */
  finished(): void {
    this.#finishes += 1;
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
    const isResumed = this.#pauseAndResume();
    if (hasMore) this.#soon();
    else if (isResumed || !this.#isStalled()) this.#options.wake.fire();
  }

  /**
   * Waits until there is room to fetch, or until the partitions are revoked, and sends heartbeats meanwhile. Throws if
   * a heartbeat fails, because the group is rebalancing or the coordinator is gone.
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

  /** `true` if `room` would return all partitions immediately. */
  hasRoom(): boolean {
    return !this.#isStalled();
  }

  #untilLook(member: Member, nodeId: string): number {
    if (!this.#owned.some(isLookedAt)) return Number.POSITIVE_INFINITY;
    if (!member.readsFrom(nodeId, this.#isLookedAt)) return Number.POSITIVE_INFINITY;
    const { atMs } = this.#looks.get(nodeId) ?? NEVER;
    const leftMs = atMs + LOOK_EVERY_MS - Date.now();
    // Without this, if the clock was set back, polling would stop until the clock has caught up.
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

  /**
   * The time until the next heartbeat. Waking up earlier would be useless, because there is nothing else to do.
   */
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

  /** Returns `true` if a partition was resumed. */
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

/** With `hold`: `true` if this partition prevents fetching the others. */
function holds({ hasBacklog, passes, isWaiting }: OwnedPartition): boolean {
  return hasBacklog && !passes && !isWaiting;
}

/** With `hold`: `true` if this partition is polled while another one blocks the loop. */
function isLookedAt({ hasBacklog, passes, isPaused }: OwnedPartition): boolean {
  return !isPaused && (passes || !hasBacklog);
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
