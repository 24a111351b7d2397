/** What a stage is given that takes its records from Kafka and shares the process with others. */

import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";
import type { Kafka, Producer } from "./port.ts";

export interface StageDeps {
  readonly kafka: Kafka;
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The stage cannot go on, and nobody else can do its work in this process. Called at most once. */
  readonly onFatal: (error: Error) => void;
}
