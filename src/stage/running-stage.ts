/** A running stage, as the program around it sees it. */

import type { AudienceStatus } from "../domain/audience-status.ts";
import type { DestinationStatus } from "../domain/destination-status.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import type { StageName } from "../domain/stages.ts";

export interface OwnedPartition {
  readonly topic: string;
  readonly partition: number;
}

/**
 * Started by `start<Stage>(deps, config)`; disposing it stops taking work, drains, commits, leaves.
 */
export interface RunningStage extends AsyncDisposable {
  readonly name: StageName;
  /** Resolves when every consumer of the stage has joined its group. */
  readonly joined: Promise<void>;
  /** For the JSON body of `/readyz`: anything that is not as it should be, in plain sentences. */
  readonly healthProblems: () => readonly string[];
  /** Those that it owns. Absent: it reads no topic. */
  readonly partitions?: () => readonly OwnedPartition[];
  /** Only of the stage that delivers to them. */
  readonly destinations?: () => readonly DestinationStatus[];
  /** Only of the stage that waits: of each destination, the earliest first attempt that waits there. */
  readonly firstAttempts?: () => ReadonlyMap<string, number>;
  /** Only of the stage of audiences: those that it owns, as far as their stores are open. */
  readonly audiences?: () => readonly AudienceStatus[];
  /**
   * Takes other settings. Every batch, request and attempt that begins from now on goes by them, and
   * one that is under way ends by those before. Topics of new destinations must exist. Absent: the
   * stage uses none of them.
   */
  readonly update?: (settings: LiveSettings) => void;
  /**
   * Ends what the last `update` left out; resolves when it has ended. Called when all stages have
   * taken the settings, so that nothing is handed to it any more.
   */
  readonly retire?: () => Promise<void>;
}
