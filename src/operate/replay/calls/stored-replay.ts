/**
 * The plan and the progress of a replay of calls, as they are kept in Kafka: in the commits of the
 * group `<prefix>replay.<name>` on the topic of calls, as those of dead letters are
 * (src/operate/replay/replay-store.ts). The commit of each partition holds
 *
 *   offset     the next record of the partition to look at
 *   metadata   {"v":1, "of":"calls", the plan, "to", "counts"}
 *
 * `to` is the partition's end when the replay began: calls that came later were routed to the
 * destination by the stage.
 */

import { jsonObjectIn } from "../../../domain/json.ts";
import type { AskedCalls, RoutedAgain } from "../../../route/route-for-replay.ts";
import type { ReplayForm } from "../replay-store.ts";

export interface CallReplayPlan {
  readonly destination: string;
  readonly asked: AskedCalls;
  /** Null: as fast as it goes. */
  readonly perSecond: number | null;
}

/** The fate of a record: `written`, `refused`, or such as `skipped:disabled`. */
export type CountKey =
  | "written"
  /** The brokers do not take it. */
  | "refused"
  | `${Exclude<RoutedAgain["kind"], "written">}:${string}`;
export type Counts = Readonly<Partial<Record<CountKey, number>>>;

export interface PartitionCalls {
  readonly partition: number;
  readonly position: number;
  readonly to: number;
  readonly counts: Counts;
}

export interface StoredCallReplay {
  readonly plan: CallReplayPlan;
  readonly partitions: readonly PartitionCalls[];
}

/** The brokers take 4,096 bytes by default; counts grow by at most 600. */
const METADATA_MAX_BYTES = 3_400;
const VERSION = 1;

export const OF_CALLS: ReplayForm<StoredCallReplay> = {
  topic: ({ calls }) => calls,
  encode: ({ plan, partitions }) =>
    partitions.map(({ partition, position, to, counts }) => ({
      partition,
      offset: position,
      metadata: JSON.stringify({ v: VERSION, of: "calls", ...plan, to, counts }),
    })),
  decode: (commits) => {
    let stored: StoredCallReplay | null = null;
    for (const { partition, offset: position, metadata } of commits) {
      const kept = parse(metadata);
      if (kept === null) return null;
      const { to, counts, ...plan } = kept;
      const before: readonly PartitionCalls[] = stored?.partitions ?? [];
      stored = { plan, partitions: [...before, { partition, position, to, counts }] };
    }
    return stored;
  },
};

/** Whether the brokers would store it. */
export function fits(plan: CallReplayPlan): boolean {
  const most = Number.MAX_SAFE_INTEGER;
  const at = { partition: 0, position: 0, to: most, counts: {} };
  const [commit] = OF_CALLS.encode({ plan, partitions: [at] });
  return Buffer.byteLength(commit?.metadata ?? "") <= METADATA_MAX_BYTES;
}

export function sumOf(partitions: readonly Pick<PartitionCalls, "counts">[]): Counts {
  const sum: Partial<Record<CountKey, number>> = {};
  for (const { counts } of partitions) {
    for (const [key, count] of Object.entries(counts) as [CountKey, number][]) {
      sum[key] = (sum[key] ?? 0) + count;
    }
  }
  return sum;
}

type Kept = CallReplayPlan & Pick<PartitionCalls, "to" | "counts">;

function parse(metadata: string): Kept | null {
  const json = jsonObjectIn(metadata);
  if (json === null) return null;
  const { v, of, ...kept } = json;
  // `encode` wrote everything that says so: nobody else commits for this group.
  return v === VERSION && of === "calls" ? (kept as unknown as Kept) : null;
}
