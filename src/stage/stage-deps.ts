/** The dependencies of a stage that takes records from Kafka and shares the process with others. */

import type { OperatorActions } from "../control/operator-action-state.ts";
import type { Kafka, Producer } from "../kafka/port.ts";
import type { Schemas } from "../registry/port.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";
import type { Tracing } from "../telemetry/tracing/port.ts";
import type { Rerouting } from "./reroute.ts";
import type { TopicKeeper } from "./topic-keeper.ts";

export interface StageDeps {
  readonly kafka: Kafka;
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Lets deliveries go around a topic that takes nothing; absent: they wait for it. */
  readonly rerouting?: Rerouting;
  /** Shared by the stages of the process; absent: no schema registry is configured. */
  readonly schemas?: Schemas;
  /** Shared by the stages of the process; absent: traces are off. */
  readonly tracing?: Tracing;
  /** Makes topics again that are gone; absent: a consumer whose topic is gone has failed. */
  readonly keeper?: TopicKeeper;
  /** Operations by people, while it runs; absent: none. */
  readonly operatorActions?: OperatorActions;
  /**
   * The stage cannot go on, and nobody else can do its work in this process. Called at most once.
   */
  readonly onFatal: (error: Error) => void;
}
