/** A running stage, as the program around it sees it. */

import type { StageName } from "../domain/stages.ts";

/**
 * Started by `start<Stage>(deps, config)`; disposing it stops taking work, drains, commits, leaves.
 */
export interface RunningStage extends AsyncDisposable {
  readonly name: StageName;
  /** Resolves when every consumer of the stage has joined its group. */
  readonly joined: Promise<void>;
  /** For the JSON body of `/readyz`: anything that is not as it should be, in plain sentences. */
  readonly troubles: () => readonly string[];
}
