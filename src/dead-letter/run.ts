/**
 * What a replay run has set out to do and how far it is, as it is kept in Kafka: in the commits of
 * the group `<prefix>replay.<run>`, which has no members. The commit of each partition holds
 *
 *   offset     the next dead letter of the partition to look at
 *   metadata   {"v":1, the plan, "to", "replayed", "refused"}
 *
 * so that nothing but Kafka is needed to go on, and every partition alone says all. `to` is the
 * partition's end when the run began: what is given up later, also by this run, is left to another
 * one.
 */

import type { LetterFilter } from "./filter.ts";

export interface RunPlan {
  readonly filter: LetterFilter;
  /** Most dead letters to look at that pass the filter; null: all. */
  readonly limit: number | null;
  /** Null: as fast as it goes. */
  readonly perSecond: number | null;
}

export interface PartitionRun {
  readonly partition: number;
  readonly position: number;
  readonly to: number;
  readonly replayed: number;
  readonly refused: number;
}

/** Fits the port's `CommittedOffset`. */
export interface Commit {
  readonly partition: number;
  readonly offset: number;
  readonly metadata: string;
}

export interface StoredRun {
  readonly plan: RunPlan;
  readonly partitions: readonly PartitionRun[];
}

/** The brokers take 4,096 bytes by default. */
export const METADATA_BYTES_MAX = 3_500;
const VERSION = 1;

export function encodeRun(plan: RunPlan, at: PartitionRun): Commit {
  const { partition, position, to, replayed, refused } = at;
  const metadata = JSON.stringify({ v: VERSION, ...plan, to, replayed, refused });
  return { partition, offset: position, metadata };
}

/** Whether the brokers would store it. */
export function fits(plan: RunPlan): boolean {
  const most = Number.MAX_SAFE_INTEGER;
  const at = { partition: 0, position: 0, to: most, replayed: most, refused: most };
  return Buffer.byteLength(encodeRun(plan, at).metadata) <= METADATA_BYTES_MAX;
}

/** Null: these are no commits of a run. */
export function decodeRun(commits: readonly Commit[]): StoredRun | null {
  const read = commits.map((commit) => ({ commit, stored: parse(commit.metadata) }));
  let run: StoredRun | null = null;
  for (const { commit, stored } of read) {
    if (stored === null) return null;
    const { plan, to, replayed, refused } = stored;
    const { partition, offset } = commit;
    const partitions: readonly PartitionRun[] = run?.partitions ?? [];
    run = {
      plan,
      partitions: [...partitions, { partition, position: offset, to, replayed, refused }],
    };
  }
  return run;
}

interface Metadata {
  readonly plan: RunPlan;
  readonly to: number;
  readonly replayed: number;
  readonly refused: number;
}

function parse(metadata: string): Metadata | null {
  let json: unknown;
  try {
    json = JSON.parse(metadata);
  } catch {
    return null;
  }
  if (typeof json !== "object" || json === null) return null;
  const { v, filter, limit, perSecond, ...rest } = json as Record<string, unknown>;
  // Whatever has our version was written by `encodeRun`: nobody else commits for this group.
  if (v !== VERSION || typeof filter !== "object" || filter === null) return null;
  const plan = { filter, limit, perSecond } as RunPlan;
  return { plan, ...(rest as Omit<Metadata, "plan">) };
}

export interface RunTotals {
  readonly replayed: number;
  readonly refused: number;
}

export function runTotals(partitions: readonly PartitionRun[]): RunTotals {
  const sum = (count: (at: PartitionRun) => number) =>
    partitions.reduce((total, at) => total + count(at), 0);
  return { replayed: sum((at) => at.replayed), refused: sum((at) => at.refused) };
}
