/** Destination topics to signed webhooks. */

import type { WebhookDestination } from "../domain/destination.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import type { Kafka, Producer } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import type { RunningStage } from "../runtime/stage.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";
import type { HttpPort } from "./attempt.ts";

export interface DeliverDeps {
  readonly kafka: Kafka;
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly http: HttpPort;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface DeliverConfig {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly destinations: readonly WebhookDestination[];
  /** Delay before the next attempt by times parked; the last one repeats. Never falling. */
  readonly delaysMs: readonly number[];
  /** From the first attempt; at most 4 h. */
  readonly windowMs: number;
  /** Bytes of unfinished records of one destination. */
  readonly bytesMax: number;
  /** Longest wait for attempts under way when a partition or the process goes. */
  readonly drainLimitMs: number;
}

/** Starts a consumer per destination, 16 at a time; `joined` tells when all are there. */
export function startDeliver(_deps: DeliverDeps, _config: DeliverConfig): Promise<RunningStage> {
  throw new Error("not written yet");
}
