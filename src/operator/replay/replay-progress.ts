/** Counts the outcomes of a replay's records, and keeps the positions that are to be committed. */

import type { CommittedOffset, PartitionOffset } from "../../kafka/port.ts";
import { type CountKey, type Counts, encodeReplay, type StoredReplay } from "./replay-store.ts";

type Counting = Partial<Record<CountKey, number>>;

/** Changed only by the process that counts or sends the records. */
export class ReplayProgress {
  readonly #stored: StoredReplay;
  readonly #partitions: ReadonlyMap<
    number,
    { readonly partition: number; position: number; readonly to: number; readonly counts: Counting }
  >;
  /** The partitions whose position is ahead of the last commit. At the start, these are all partitions. */
  readonly #ahead: Set<number>;
  readonly #counts: Counting = {};
  readonly #own: Counting = {};
  /** Records that this process has read. */
  read = 0;

  constructor(stored: StoredReplay) {
    this.#stored = stored;
    this.#partitions = new Map(
      stored.partitions.map((at) => [at.partition, { ...at, counts: { ...at.counts } }]),
    );
    this.#ahead = new Set(this.#partitions.keys());
    for (const { counts } of stored.partitions) {
      for (const [key, count] of Object.entries(counts)) add(this.#counts, key as CountKey, count);
    }
  }

  /** Counts of all processes that have worked on the replay. */
  get counts(): Counts {
    return { ...this.#counts };
  }

  /** Counts of this process. */
  get own(): Counts {
    return { ...this.#own };
  }

  /** True if the plan's limit has been reached. */
  get isFull(): boolean {
    const { plan } = this.#stored;
    if (!("limit" in plan) || plan.limit === null) return false;
    const { written = 0, refused = 0 } = this.#counts;
    return written + refused >= plan.limit;
  }

  /** Call this when the record has been processed. @param as null if the record is not counted. */
  moveOn({ partition, offset }: PartitionOffset, as: CountKey | null): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    at.position = offset + 1;
    this.read += 1;
    this.#ahead.add(partition);
    if (as !== null) this.#count(at.counts, as, 1);
  }

  /** Corrects the counts of a record that was counted as written, and was not. */
  recount(partition: number, as: CountKey | null): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    this.#ahead.add(partition);
    this.#count(at.counts, "written", -1);
    if (as !== null) this.#count(at.counts, as, 1);
  }

  /** The positions that have changed since the last call of `committed`. */
  commits(): readonly CommittedOffset[] {
    const ahead = [...this.#ahead].flatMap((partition) => this.#partitions.get(partition) ?? []);
    return encodeReplay({ ...this.#stored, partitions: ahead });
  }

  /** Makes `commits` return all positions again, because Kafka deletes old commits. */
  renew(): void {
    for (const partition of this.#partitions.keys()) this.#ahead.add(partition);
  }

  committed(): void {
    this.#ahead.clear();
  }

  #count(partition: Counting, key: CountKey, number: number): void {
    for (const counts of [partition, this.#counts, this.#own]) add(counts, key, number);
  }
}

function add(counts: Counting, key: CountKey, number = 0): void {
  counts[key] = (counts[key] ?? 0) + number;
}
