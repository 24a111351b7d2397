/**
 * The plan and the progress of a replay, as they are kept in Kafka: in the commits of the group
 * `<prefix>replay.<name>`, which has no members. The commit of each partition holds
 *
 *   offset     the next dead letter of the partition to look at
 *   metadata   {"v":1, the plan, "to", "replayed", "refused"}
 *
 * So nothing but Kafka is needed to go on, and every partition alone says all. `to` is the
 * partition's end when the replay began. Later dead letters, also of this replay, are left to
 * another replay.
 */

import { jsonObjectIn } from "../../domain/json.ts";
import type { CommittedOffset } from "../../kafka/port.ts";
import type { DeadLetterFilter } from "./filter.ts";

export interface ReplayPlan {
  readonly filter: DeadLetterFilter;
  /** Most dead letters to look at that pass the filter; null: all. */
  readonly limit: number | null;
  /** Null: as fast as it goes. */
  readonly perSecond: number | null;
  /** Also letters that another replay has sent. Absent in plans of earlier versions: no. */
  readonly includeReplayed?: boolean;
}

export interface PartitionReplay {
  readonly partition: number;
  readonly position: number;
  readonly to: number;
  readonly replayed: number;
  readonly refused: number;
}

export interface StoredReplay {
  readonly plan: ReplayPlan;
  readonly partitions: readonly PartitionReplay[];
}

/** The brokers take 4,096 bytes by default. */
export const METADATA_MAX_BYTES = 3_500;
const VERSION = 1;

export function encodeReplay(plan: ReplayPlan, at: PartitionReplay): CommittedOffset {
  const { partition, position, to, replayed, refused } = at;
  const metadata = JSON.stringify({ v: VERSION, ...plan, to, replayed, refused });
  return { partition, offset: position, metadata };
}

/** Whether the brokers would store it. */
export function fits(plan: ReplayPlan): boolean {
  const most = Number.MAX_SAFE_INTEGER;
  const at = { partition: 0, position: 0, to: most, replayed: most, refused: most };
  return Buffer.byteLength(encodeReplay(plan, at).metadata) <= METADATA_MAX_BYTES;
}

/** Null: these are no commits of a replay. */
export function decodeReplay(commits: readonly CommittedOffset[]): StoredReplay | null {
  const read = commits.map((commit) => ({ commit, stored: parse(commit.metadata) }));
  let whole: StoredReplay | null = null;
  for (const { commit, stored } of read) {
    if (stored === null) return null;
    const { plan, to, replayed, refused } = stored;
    const { partition, offset } = commit;
    const partitions: readonly PartitionReplay[] = whole?.partitions ?? [];
    whole = {
      plan,
      partitions: [...partitions, { partition, position: offset, to, replayed, refused }],
    };
  }
  return whole;
}

interface Metadata {
  readonly plan: ReplayPlan;
  readonly to: number;
  readonly replayed: number;
  readonly refused: number;
}

function parse(metadata: string): Metadata | null {
  const json = jsonObjectIn(metadata);
  if (json === null) return null;
  const { v, filter, limit, perSecond, includeReplayed, ...rest } = json;
  // `encodeReplay` wrote everything that has our version: nobody else commits for this group.
  if (v !== VERSION || typeof filter !== "object" || filter === null) return null;
  const asked = includeReplayed === undefined ? {} : { includeReplayed };
  const plan = { filter, limit, perSecond, ...asked } as ReplayPlan;
  return { plan, ...(rest as Omit<Metadata, "plan">) };
}

export interface ReplayTotals {
  readonly replayed: number;
  readonly refused: number;
}

export function replayTotals(partitions: readonly PartitionReplay[]): ReplayTotals {
  const sum = (count: (at: PartitionReplay) => number) =>
    partitions.reduce((total, at) => total + count(at), 0);
  return { replayed: sum((at) => at.replayed), refused: sum((at) => at.refused) };
}
