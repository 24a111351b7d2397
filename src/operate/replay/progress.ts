/** How far a replay is: letters in hand, and positions that have yet to be committed. */

import type { CommittedOffset } from "../../kafka/port.ts";
import {
  encodeReplay,
  type PartitionReplay,
  type ReplayPlan,
  type ReplayTotals,
  replayTotals,
  type StoredReplay,
} from "./stored-replay.ts";

export class ReplayProgress {
  readonly plan: ReplayPlan;
  readonly #partitions: Map<number, PartitionReplay>;
  /** Partitions whose position is ahead of their commit; at the start all of them. */
  readonly #ahead: Set<number>;
  #replayed: number;
  #refused: number;

  constructor({ plan, partitions }: StoredReplay) {
    this.plan = plan;
    this.#partitions = new Map(partitions.map((at) => [at.partition, at]));
    this.#ahead = new Set(this.#partitions.keys());
    const { replayed, refused } = replayTotals(partitions);
    this.#replayed = replayed;
    this.#refused = refused;
  }

  get totals(): ReplayTotals {
    return { replayed: this.#replayed, refused: this.#refused };
  }

  /** The limit is reached. */
  get isFull(): boolean {
    return this.plan.limit !== null && this.#replayed + this.#refused >= this.plan.limit;
  }

  /** The record has been dealt with; `as` null: it did not pass the filter. */
  moveOn(
    { partition, offset }: { readonly partition: number; readonly offset: number },
    as: "replayed" | "refused" | null,
  ): void {
    this.#count(partition, as === "replayed" ? 1 : 0, as === "refused" ? 1 : 0, offset + 1);
  }

  /** It counted as replayed, and the brokers refused it. */
  takeBack(partition: number): void {
    this.#count(partition, -1, 1, null);
  }

  /** The positions that have moved since `committed` was called. */
  commits(): readonly CommittedOffset[] {
    return [...this.#ahead].flatMap((partition) => {
      const at = this.#partitions.get(partition);
      return at === undefined ? [] : [encodeReplay(this.plan, at)];
    });
  }

  /** Kafka forgets what is not committed for long: commits everything again. */
  renew(): void {
    for (const partition of this.#partitions.keys()) this.#ahead.add(partition);
  }

  committed(): void {
    this.#ahead.clear();
  }

  #count(partition: number, replayed: number, refused: number, position: number | null): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    this.#replayed += replayed;
    this.#refused += refused;
    this.#ahead.add(partition);
    this.#partitions.set(partition, {
      ...at,
      position: position ?? at.position,
      replayed: at.replayed + replayed,
      refused: at.refused + refused,
    });
  }
}
