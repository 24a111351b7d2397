/** The interface between a running stage and the rest of the program. */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Tracing } from "../../base/telemetry/tracing/port.ts";
import type { AudienceStatus } from "../../domain/audience.ts";
import type { OnCorruptBatch } from "../../domain/corrupt-batch.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { LiveSettings } from "../../domain/live-settings.ts";
import type { PartitionPlace } from "../../domain/record.ts";
import type { StageName } from "../../domain/stages.ts";
import type { GroupNames, TopicNames } from "../../domain/topics.ts";
import type { Kafka, Producer } from "../../kafka/port.ts";
import type { Schemas } from "../../registry/port.ts";
import type { OperatorActions } from "../control/operator-action-state.ts";
import type { ProcessLedger } from "../ledger/process-ledger.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import type { Rerouting } from "./reroute.ts";
import type { TopicKeeper } from "./topic-keeper.ts";

/** The dependencies of a stage that reads records from Kafka and shares the process with others. */
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
  /** Absent if nothing checks whether users are suppressed. */
  readonly suppressions?: KnownSuppressions;
  /** Absent if `audit.enabled` is false. */
  readonly ledger?: ProcessLedger;
  /** Called at most once, if the stage cannot continue and nothing else in this process can do its work. */
  readonly onFatal: (error: Error) => void;
}

/** The settings that each stage with a shared consumer has, whatever it does with the records. */
export interface SharedStageConfig {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Maximum bytes of records in flight. */
  readonly maxBytes: number;
  /** What the stage does at a corrupt batch: it halts (`stop`, the default) or skips the batch. */
  readonly onCorruptBatch?: OnCorruptBatch;
  /** Maximum wait for work in progress when a partition is revoked or the process stops. */
  readonly drainLimitMs: number;
}

/**
 * A stage that `start<Stage>(deps, config)` has started. When it is disposed, the stage drains: it takes no more work,
 * completes what is in progress, commits, and leaves the group.
 */
export interface RunningStage extends AsyncDisposable {
  readonly name: StageName;
  /** Resolves when every consumer of the stage has joined its group. */
  readonly joined: Promise<void>;
  /** The problems for the JSON body of `/readyz`, in plain sentences. */
  readonly healthProblems: () => readonly string[];
  /** The partitions that the stage owns. Absent if the stage does not read a topic. */
  readonly partitions?: () => readonly PartitionPlace[];
  /** Only for the deliver stage. */
  readonly destinations?: () => readonly DestinationStatus[];
  /** Only for the delay stage: for each destination, the time of the earliest first attempt of its deliveries. */
  readonly firstAttempts?: () => ReadonlyMap<string, number>;
  /** Only for the audience stage: the audiences that this process owns and whose stores are open. */
  readonly audiences?: () => readonly AudienceStatus[];
  /**
   * Applies new settings. Every batch, request and attempt that starts later uses the new settings; those in progress
   * keep the old settings. Topics of new destinations must exist. Absent if the stage uses none of these settings.
   */
  readonly update?: (settings: LiveSettings) => void;
  /**
   * Ends the work for destinations and audiences that the last `update` removed, and resolves when this work has ended.
   * Called when all stages have applied the settings, so that no stage can still write to a removed topic.
   */
  readonly retire?: () => Promise<void>;
}
