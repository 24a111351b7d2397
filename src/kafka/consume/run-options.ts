/** The options of a run, and those of its member. */

import type { Log } from "../../telemetry/log.ts";
import type { CreateMembership, MembershipOptions } from "../membership.ts";
import type { ConsumeOptions } from "../port.ts";
import type { CommitPace } from "./commit-pace.ts";
import { type ConsumerTimes, fetchMaxBytes } from "./consumer-times.ts";
import type { GroupWatch } from "./group-watch.ts";
import type { Memory } from "./ownership.ts";

export interface RunOptions {
  readonly createMembership: CreateMembership;
  readonly sessionTimeoutMs: number;
  readonly recordMaxBytes: (topic: string) => number;
  readonly consume: ConsumeOptions;
  /** Outlives the run. */
  readonly memory: Memory;
  readonly groups: GroupWatch;
  readonly onJoined: () => void;
  /** Called at each rebalance with client IDs of other programs in the group. */
  readonly onForeignMembers: (clientIds: readonly string[]) => void;
  readonly onOffsetReset: () => void;
  /** Shared by the consumers of the process. */
  readonly commits: CommitPace;
  readonly log: Log;
}

export function memberOptions(
  { consume, sessionTimeoutMs, recordMaxBytes }: RunOptions,
  times: ConsumerTimes,
): MembershipOptions {
  return {
    groupId: consume.groupId,
    topics: consume.topics,
    sessionTimeoutMs,
    ...times,
    fetchMaxBytes: fetchMaxBytes(consume),
    recordMaxBytes,
    skipsCorrupt: consume.onSkipped !== undefined,
  };
}
