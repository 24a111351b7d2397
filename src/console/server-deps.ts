/** Things that the server and its streams are handed. */

import type { Clock } from "../runtime/clock.ts";
import type { Jobs } from "./jobs.ts";
import type { Poller } from "./poller.ts";
import type { ConsoleReader, PageFiles } from "./ports.ts";

export interface ServerDeps {
  readonly reader: ConsoleReader;
  readonly files: PageFiles;
  readonly clock: Pick<Clock, "nowMs">;
  readonly poller: Poller;
  readonly jobs: Jobs;
}
