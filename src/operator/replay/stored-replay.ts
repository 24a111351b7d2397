/**
 * Encodes the plan and the progress of a replay as commits of the group `<prefix>replay.<name>`, which has no members.
 * The commits are for the partitions of the topic that the replay reads. Each commit contains:
 *
 *   offset     the next record of the partition to read
 *   metadata   {"v":1, "of":"calls" or "dead-letters", the plan, "to", "counts"}
 *
 * Because each commit contains the whole plan, a replay can be resumed using only what is in Kafka. `to` is the end of
 * the partition when the replay started. Later calls are routed by the route stage. Later dead letters, including those
 * that this replay causes, need another replay.
 */

import { jsonObjectIn } from "../../domain/json.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { CommittedOffset } from "../../kafka/port.ts";
import type { AskedCalls, RoutedAgain } from "../../router/route/route-for-replay.ts";
import type { DeadLetterFilter } from "./dead-letter-record.ts";

export interface CallReplayPlan {
  readonly destination: string;
  readonly asked: AskedCalls;
  /** If set, only this record of `calls` is replayed. */
  readonly only?: { readonly partition: number; readonly offset: number };
  /** Null for no limit. */
  readonly perSecond: number | null;
}

export interface DeadLetterReplayPlan {
  readonly filter: DeadLetterFilter;
  /** Maximum number of dead letters to replay; null for all that pass the filter. */
  readonly limit: number | null;
  readonly perSecond: number | null;
  /** If `true`, dead letters that another replay has sent are included. By default, they are not. */
  readonly includeReplayed?: boolean;
}

interface Plans {
  readonly calls: CallReplayPlan;
  readonly "dead-letters": DeadLetterReplayPlan;
}

export type ReplayKind = keyof Plans;
export type ReplayPlan<Kind extends ReplayKind> = Plans[Kind];

/** The outcome of a record: `written`, `refused` or, only for calls, others such as `skipped:disabled`. */
export type CountKey =
  | "written"
  /** The record cannot be replayed, or the brokers rejected it as too large. */
  | "refused"
  | `${Exclude<RoutedAgain["kind"], "written">}:${string}`;
export type Counts = Readonly<Partial<Record<CountKey, number>>>;

export interface PartitionReplay {
  readonly partition: number;
  readonly position: number;
  readonly to: number;
  readonly counts: Counts;
}

export interface StoredReplay<Kind extends ReplayKind = ReplayKind> {
  readonly of: Kind;
  readonly plan: Plans[Kind];
  readonly partitions: readonly PartitionReplay[];
}

/** Brokers accept 4,096 bytes by default. Positions and counts can grow by at most 650 bytes during a replay. */
const METADATA_MAX_BYTES = 3_400;
const VERSION = 1;

/** The topic that the replay reads. */
export function topicOf(of: ReplayKind, topics: TopicNames): string {
  return of === "calls" ? topics.calls : topics.deadLetters;
}

export function encodeReplay({ of, plan, partitions }: StoredReplay): readonly CommittedOffset[] {
  return partitions.map(({ partition, position: offset, to, counts }) => {
    const metadata = JSON.stringify({ v: VERSION, of, ...plan, to, counts });
    return { partition, offset, metadata };
  });
}

/** Returns null if these are not commits of a replay. */
export function decodeReplay<Kind extends ReplayKind>(
  of: Kind,
  commits: readonly CommittedOffset[],
): StoredReplay<Kind> | null {
  let stored: StoredReplay<Kind> | null = null;
  for (const { partition, offset: position, metadata } of commits) {
    const { v, of: kind, to, counts, ...plan } = jsonObjectIn(metadata) ?? {};
    // No other program commits for this group, so all commits with this version were written by `encodeReplay`.
    if (v !== VERSION || kind !== of) return null;
    const at = { partition, position, to, counts } as PartitionReplay;
    const partitions: readonly PartitionReplay[] = [...(stored?.partitions ?? []), at];
    stored = { of, plan: plan as unknown as Plans[Kind], partitions };
  }
  return stored;
}

/** Returns true if the commit metadata is small enough for the brokers to store. */
export function fits<Kind extends ReplayKind>(of: Kind, plan: Plans[Kind]): boolean {
  const at = { partition: 0, position: 0, to: Number.MAX_SAFE_INTEGER, counts: {} };
  const [commit] = encodeReplay({ of, plan, partitions: [at] });
  return Buffer.byteLength(commit?.metadata ?? "") <= METADATA_MAX_BYTES;
}

function sumOf(partitions: readonly Pick<PartitionReplay, "counts">[]): Counts {
  const sum: Partial<Record<CountKey, number>> = {};
  for (const { counts } of partitions) {
    for (const [key, count] of Object.entries(counts) as [CountKey, number][]) {
      sum[key] = (sum[key] ?? 0) + count;
    }
  }
  return sum;
}

type Counting = Omit<PartitionReplay, "counts" | "position"> & {
  position: number;
  readonly counts: Partial<Record<CountKey, number>>;
};

/** The progress of a replay: the outcomes of its records, and the positions to be committed. */
export class ReplayProgress {
  readonly #stored: StoredReplay;
  readonly #partitions: Map<number, Counting>;
  /** The partitions whose position is ahead of the last commit. At the start, these are all partitions. */
  readonly #ahead: Set<number>;
  readonly #own: Partial<Record<CountKey, number>> = {};
  /** Records that this process has read. */
  read = 0;

  constructor(stored: StoredReplay) {
    this.#stored = stored;
    this.#partitions = new Map(
      stored.partitions.map((at) => [at.partition, { ...at, counts: { ...at.counts } }]),
    );
    this.#ahead = new Set(this.#partitions.keys());
  }

  /** Counts of all processes that have worked on the replay. */
  get counts(): Counts {
    return sumOf([...this.#partitions.values()]);
  }

  /** Counts of this process. */
  get own(): Counts {
    return { ...this.#own };
  }

  /** True if the plan's limit has been reached. */
  get isFull(): boolean {
    const { plan } = this.#stored;
    if (!("limit" in plan) || plan.limit === null) return false;
    const { written = 0, refused = 0 } = this.counts;
    return written + refused >= plan.limit;
  }

  /** Call this when the record has been processed. @param as null if the record is not counted. */
  moveOn(
    { partition, offset }: { readonly partition: number; readonly offset: number },
    as: CountKey | null,
  ): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    at.position = offset + 1;
    this.read += 1;
    this.#ahead.add(partition);
    if (as !== null) this.#count(at, as, 1);
  }

  /** Corrects the counts after a record that was counted as written turned out to be too large. */
  refuse(partition: number): void {
    const at = this.#partitions.get(partition);
    if (at === undefined) return;
    this.#ahead.add(partition);
    this.#count(at, "written", -1);
    this.#count(at, "refused", 1);
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

  #count(at: Counting, key: CountKey, number: number): void {
    at.counts[key] = (at.counts[key] ?? 0) + number;
    this.#own[key] = (this.#own[key] ?? 0) + number;
  }
}
