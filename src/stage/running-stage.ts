/** A running stage, as the rest of the program sees it. */

import type { AudienceStatus } from "../domain/audience-status.ts";
import type { DestinationStatus } from "../domain/destination-status.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import type { StageName } from "../domain/stages.ts";

export interface OwnedPartition {
  readonly topic: string;
  readonly partition: number;
}

/**
 * Started by `start<Stage>(deps, config)`. Disposing it drains: it takes no more work, commits, and
 * leaves the group.
 */
export interface RunningStage extends AsyncDisposable {
  readonly name: StageName;
  /** Resolves when every consumer of the stage has joined its group. */
  readonly joined: Promise<void>;
  /** For the JSON body of `/readyz`: whatever is wrong, in plain sentences. */
  readonly healthProblems: () => readonly string[];
  /** The partitions that it owns. Absent if it reads no topic. */
  readonly partitions?: () => readonly OwnedPartition[];
  /** Only for the deliver stage. */
  readonly destinations?: () => readonly DestinationStatus[];
  /** Only for the delay stage: the earliest first attempt per destination among its deliveries. */
  readonly firstAttempts?: () => ReadonlyMap<string, number>;
  /** Only for the audience stage: the audiences that it owns and whose stores are open. */
  readonly audiences?: () => readonly AudienceStatus[];
  /**
   * Applies other settings. Every batch, request and attempt that starts from now on uses them; one
   * that is in progress keeps the old ones. Topics of new destinations must exist. Absent if the
   * stage uses none of these settings.
   */
  readonly update?: (settings: LiveSettings) => void;
  /**
   * Ends what the last `update` removed; resolves when it has ended. Called when all stages have
   * applied the settings, so that nothing more is passed to it.
   */
  readonly retire?: () => Promise<void>;
}
