/** Things that the server and its streams are handed. */

import type { Clock } from "../runtime/clock.ts";
import type { Jobs } from "./jobs.ts";
import type { Looking } from "./poller.ts";
import type { Eyes, PageFiles } from "./ports.ts";

export interface ServerDeps {
  readonly eyes: Eyes;
  readonly files: PageFiles;
  readonly clock: Pick<Clock, "nowMs">;
  readonly looking: Looking;
  readonly jobs: Jobs;
}
