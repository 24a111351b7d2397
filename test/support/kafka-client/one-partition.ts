/** A member with one partition, whose heartbeats, commits and fetches a test controls. */

import type { FetchedBatch, Member, OffsetToCommit } from "../../../src/kafka/membership.ts";
import { fetchedBatch } from "./fetched-batch.ts";

export const TOPIC = "t";
export const PARTITION = 0;

export class OnePartition implements Member {
  heardAtMs = 0;
  position: number | null = 0;
  heartbeats = 0;
  /** The committed offsets, in order. */
  readonly commits: number[] = [];
  /** The calls of `pause` and `resume`, in order. */
  readonly pauses: string[] = [];
  onCommit: () => Promise<void> = async () => undefined;
  onHeartbeat: () => void | Promise<void> = () => undefined;
  /** Wraps each heartbeat, like `GroupEvents.heartbeat`. */
  wrapHeartbeat: (send: () => Promise<void>) => Promise<void> = (send) => send();

  heartbeat(agoMs: number): Promise<void> {
    return this.wrapHeartbeat(async () => {
      if (Date.now() < this.heardAtMs + agoMs) return;
      this.heartbeats += 1;
      await this.onHeartbeat();
      this.heardAtMs = Date.now();
    });
  }

  positionOf(): number | null {
    return this.position;
  }

  advance(_topic: string, _partition: number, offset: number): void {
    this.position = offset + 1;
  }

  async commit(offsets: readonly OffsetToCommit[]): Promise<void> {
    await this.onCommit();
    for (const { offset } of offsets) this.commits.push(offset);
  }

  pause(): void {
    this.pauses.push("pause");
  }

  resume(): void {
    this.pauses.push("resume");
  }

  /** Starts a fetch from the current position. Returns a function that creates its response, now or later. */
  fetch(): (offsets: readonly number[], end?: number) => FetchedBatch {
    const from = this.position ?? 0;
    return (offsets, end = 1_000) =>
      fetchedBatch(offsets, { from, end, last: offsets.at(-1) ?? null });
  }
}
