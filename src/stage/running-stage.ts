/** The interface between a running stage and the rest of the program. */

import type { AudienceStatus } from "../domain/audience-status.ts";
import type { DestinationStatus } from "../domain/destination-status.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import type { StageName } from "../domain/stages.ts";

export interface OwnedPartition {
  readonly topic: string;
  readonly partition: number;
}

/**
 * A stage that `start<Stage>(deps, config)` has started. When it is disposed, the stage drains: it takes no more work,
 * completes what is in progress, commits, and leaves the group.
 */
export interface RunningStage extends AsyncDisposable {
  readonly name: StageName;
  /** Resolves when every consumer of the stage has joined its group. */
  readonly joined: Promise<void>;
  /** The problems for the JSON body of `/readyz`, in plain sentences. */
  readonly healthProblems: () => readonly string[];
  /** The partitions that the stage owns. Absent if the stage does not read a topic. */
  readonly partitions?: () => readonly OwnedPartition[];
  /** Only for the deliver stage. */
  readonly destinations?: () => readonly DestinationStatus[];
  /** Only for the delay stage: for each destination, the time of the earliest first attempt of its deliveries. */
  readonly firstAttempts?: () => ReadonlyMap<string, number>;
  /** Only for the audience stage: the audiences that this process owns and whose stores are open. */
  readonly audiences?: () => readonly AudienceStatus[];
  /**
   * Applies new settings. Every batch, request and attempt that starts later uses the new settings; those in progress
   * keep the old settings. Topics of new destinations must exist. Absent if the stage uses none of these settings.
   */
  readonly update?: (settings: LiveSettings) => void;
  /**
   * Ends the work for destinations and audiences that the last `update` removed, and resolves when this work has ended.
   * Called when all stages have applied the settings, so that no stage can still write to a removed topic.
   */
  readonly retire?: () => Promise<void>;
}
