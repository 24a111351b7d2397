/** Delay topics back to their destinations' topics, when their records are due. */

import type { DestinationId } from "../domain/ids.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import type { Kafka, Producer } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import type { RunningStage } from "../runtime/stage.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";

export interface DelayDeps {
  readonly kafka: Kafka;
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface DelayConfig {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Names of tiers whose topics exist: those configured and retired ones still to be drained. */
  readonly tiers: readonly string[];
  /** Destinations that records may return to. */
  readonly destinations: readonly DestinationId[];
  /** Bytes of waiting records of one tier that are held in memory. */
  readonly bytesMax: number;
  readonly drainLimitMs: number;
}

/** Starts a consumer per tier. */
export function startDelay(_deps: DelayDeps, _config: DelayConfig): Promise<RunningStage> {
  throw new Error("not written yet");
}
