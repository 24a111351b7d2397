/**
 * Hands fetched records over as there is room, and stops fetching when there is none.
 *
 *   whenFull   while something fetched is not handed over     again when
 *   hold       no partition is fetched                        all of it is handed over
 *   pause      its partition is not fetched                   and half of what is allowed is free
 *
 * Between two calls of a partition's `take` others run: a fetch can hold 100,000 tiny records.
 */

import { POLL_PAUSED_MS } from "./consumer-config.ts";
import type { ConsumerGroup } from "./consumer-group.ts";
import type { OwnedPartition } from "./owned-partition.ts";
import type { Signal } from "./signal.ts";

/** Between looks while fetching stands still and no heartbeat is due, or none can be sent. */
const WAIT_MIN_MS = 100;

export interface BackPressureOptions {
  readonly whenFull: "hold" | "pause";
  readonly pollMs: number;
  readonly heartbeatMs: number;
  /** Fired when fetching may go on. */
  readonly wake: Signal;
}

export class BackPressure {
  readonly #options: BackPressureOptions;
  #group: ConsumerGroup | null = null;
  #owned: readonly OwnedPartition[] = [];
  #isScheduled = false;

  constructor(options: BackPressureOptions) {
    this.#options = options;
  }

  /** Nothing of what was paused before stays so: kafkajs keeps it over rebalances. */
  own(group: ConsumerGroup, owned: readonly OwnedPartition[]): void {
    group.resume(group.paused());
    group.maxWaitTime = this.#options.pollMs;
    this.#group = group;
    this.#owned = owned;
  }

  /** Hands nothing more over. */
  stop(): void {
    this.#owned = [];
  }

  /** There may be room again. */
  finished(): void {
    if (this.#isScheduled) return;
    if (this.#owned.some((owned) => isWorthALook(owned))) this.#soon();
  }

  /** Hands over what there is room for, at most 1,000 records of each partition at once. */
  handOver(): void {
    let hasMore = false;
    for (const owned of this.#owned) {
      if (owned.hasBacklog && owned.handOver() === "more") hasMore = true;
    }
    if (this.#options.whenFull === "pause") this.#pauseAndResume();
    if (hasMore) this.#soon();
    else if (!this.#standsStill()) this.#options.wake.fire();
  }

  /**
   * Waits until fetching makes sense, or until the partitions are given up; heartbeats meanwhile.
   * Throws what the heartbeat throws: the group is rebalancing, or the coordinator is gone.
   */
  async room(group: ConsumerGroup): Promise<void> {
    while (this.#standsStill()) {
      await this.#options.wake.wait(this.#untilHeartbeat(group));
      if (this.#standsStill()) await group.heartbeat({ interval: this.#options.heartbeatMs });
    }
  }

  /** Waking up before that would be for nothing: most consumers stand still most of the time. */
  #untilHeartbeat({ lastRequest }: ConsumerGroup): number {
    const { heartbeatMs } = this.#options;
    const leftMs = lastRequest + heartbeatMs - Date.now();
    return Math.min(heartbeatMs, Math.max(WAIT_MIN_MS, leftMs));
  }

  #standsStill(): boolean {
    if (this.#options.whenFull === "hold") return this.#owned.some(({ hasBacklog }) => hasBacklog);
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

  #pauseAndResume(): void {
    const group = this.#group;
    if (group === null) return;
    for (const owned of this.#owned) {
      const { topic, partition } = owned;
      const partitions = [{ topic, partitions: [partition] }];
      if (!owned.isPaused && owned.hasBacklog) {
        owned.isPaused = true;
        group.pause(partitions);
      } else if (owned.isPaused && !owned.hasBacklog && owned.isHalfEmpty) {
        owned.isPaused = false;
        group.resume(partitions);
      }
    }
    const isAnyPaused = this.#owned.some(({ isPaused }) => isPaused);
    group.maxWaitTime = isAnyPaused ? POLL_PAUSED_MS : this.#options.pollMs;
  }
}

/**
 * To hand records over one by one as others are finished takes more than to wait for some: where
 * none are handed over, an eighth of what is allowed has to be free.
 */
function isWorthALook({
  hasBacklog,
  isEighthFree,
  isPaused,
  isHalfEmpty,
}: OwnedPartition): boolean {
  return hasBacklog ? isEighthFree : isPaused && isHalfEmpty;
}
