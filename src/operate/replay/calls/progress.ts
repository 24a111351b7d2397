/** How far a replay of calls is: what became of its records, and positions to be committed. */

import type { CommittedOffset } from "../../../kafka/port.ts";
import type { RoutedAgain } from "../../../route/route-for-replay.ts";
import {
  type CallReplayPlan,
  type CountKey,
  type Counts,
  OF_CALLS,
  type PartitionCalls,
  type StoredCallReplay,
  sumOf,
} from "./stored-replay.ts";

interface Counting extends Omit<PartitionCalls, "counts" | "position"> {
  position: number;
  readonly counts: Partial<Record<CountKey, number>>;
}

export class CallReplayProgress {
  readonly #plan: CallReplayPlan;
  readonly #partitions: Map<number, Counting>;
  /** Partitions whose position is ahead of their commit; at the start all of them. */
  readonly #ahead: Set<number>;
  /** Records that this process has looked at. */
  read = 0;

  constructor({ plan, partitions }: StoredCallReplay) {
    this.#plan = plan;
    this.#partitions = new Map(
      partitions.map((at) => [at.partition, { ...at, counts: { ...at.counts } }]),
    );
    this.#ahead = new Set(this.#partitions.keys());
  }

  /** Of all processes that have worked on it. */
  get counts(): Counts {
    return sumOf([...this.#partitions.values()]);
  }

  /** The record has been dealt with. */
  moveOn(
    { partition, offset }: { readonly partition: number; readonly offset: number },
    routed: RoutedAgain,
  ): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    at.position = offset + 1;
    this.read += 1;
    this.#count(at, routed.kind === "written" ? "written" : `${routed.kind}:${routed.reason}`, 1);
  }

  /** One counted as written, and the brokers refused it. */
  refuse(partition: number): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    this.#count(at, "written", -1);
    this.#count(at, "refused", 1);
  }

  /** The positions that have moved since `committed` was called. */
  commits(): readonly CommittedOffset[] {
    const ahead = [...this.#ahead].flatMap((partition) => this.#partitions.get(partition) ?? []);
    return OF_CALLS.encode({ plan: this.#plan, partitions: ahead });
  }

  /** Kafka forgets what is not committed for long: commits everything again. */
  renew(): void {
    for (const partition of this.#partitions.keys()) this.#ahead.add(partition);
  }

  committed(): void {
    this.#ahead.clear();
  }

  #count(at: Counting, key: CountKey, number: number): void {
    at.counts[key] = (at.counts[key] ?? 0) + number;
    this.#ahead.add(at.partition);
  }
}
