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
 * Started by `start<Stage>(deps, config)`. When disposed, the stage drains: it takes no more work, completes what is in
 * progress, commits, and leaves the group.
 */
export interface RunningStage extends AsyncDisposable {
  readonly name: StageName;
  /** Resolves when every consumer of the stage has joined its group. */
  readonly joined: Promise<void>;
  /** The problems for the JSON body of `/readyz`, in plain sentences. */
  readonly healthProblems: () => readonly string[];
  /** The partitions that the stage owns. Absent if it does not read a topic. */
  readonly partitions?: () => readonly OwnedPartition[];
  /** Only for the deliver stage. */
  readonly destinations?: () => readonly DestinationStatus[];
  /** Only for the delay stage: the earliest first attempt among each destination's deliveries. */
  readonly firstAttempts?: () => ReadonlyMap<string, number>;
  /** Only for the audience stage: the audiences that this process owns and whose stores are open. */
  readonly audiences?: () => readonly AudienceStatus[];
  /**
   * Applies other settings. Every batch, request and attempt that starts from now on uses the new settings; one that is
   * in progress keeps the old settings. Topics of new destinations must exist. Absent if the stage uses none of these
   * settings.
   */
  readonly update?: (settings: LiveSettings) => void;
  /**
   * Ends the work on what the last `update` removed; resolves when that work has ended. Called when all stages have
   * applied the settings, so that nothing more is passed to what was removed.
   */
  readonly retire?: () => Promise<void>;
}
