/** The dependencies of a stage that reads records from Kafka and shares the process with others. */

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
  /**
   * Reroutes deliveries whose topic is not writable. If absent, these deliveries wait until their topic is writable.
   */
  readonly rerouting?: Rerouting;
  /** Shared by the stages of the process; absent if no schema registry is configured. */
  readonly schemas?: Schemas;
  /** Shared by the stages of the process; absent if traces are disabled. */
  readonly tracing?: Tracing;
  /** Recreates missing topics. If absent, the consumer of a missing topic fails. */
  readonly keeper?: TopicKeeper;
  /** Actions by operators while the stage runs; absent if there are none. */
  readonly operatorActions?: OperatorActions;
  /** Called at most once, if the stage cannot continue and nothing else in this process can do its work. */
  readonly onFatal: (error: Error) => void;
}
