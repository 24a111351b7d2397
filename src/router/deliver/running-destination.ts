/**
 * Runs one destination: its consumer, deliveries, sender, metrics and logs. `stage.ts` describes when records count as
 * processed.
 *
 *   step of an update, or of a pause               because
 *   1  metrics show the new endpoints              a change of a circuit needs its gauge
 *   2  the sender uses the new settings            deliveries that start in step 3 are sent with them
 *   3  the dispatcher uses the new settings        deliveries that may start now are started
 *
 * An update does not affect the consumer, which stays in its group and keeps its partitions. Only the number of records
 * in flight follows the size of a batch.
 */

import type { AttemptedDestination } from "../../domain/destination.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord, PartitionPlace, RecordHeaders } from "../../domain/record.ts";
import type { GroupNames, TopicNames } from "../../domain/topics.ts";
import type { CommonBytes } from "../../kafka/port.ts";
import { NO_OPERATOR_ACTIONS } from "../control/operator-action-state.ts";
import type { Sender, Transport, UnitLimits } from "../destinations/port.ts";
import type { BookedPartition, OnBooked } from "../ledger/stage-ledger.ts";
import {
  type RunningConsumers,
  type StageConsumer,
  startConsuming,
} from "../stage/consuming-stage.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { Timer } from "./attempt.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { News } from "./endpoint-availability.ts";
import type { DestinationHold } from "./endpoint-gate.ts";
import { followUpWriter } from "./follow-up-record.ts";
import { controlled } from "./hold-cause.ts";
import type { FinishingPartition } from "./in-flight.ts";
import { DestinationOrder, type OrderConfig } from "./order/destination-order.ts";
import { Report, type ReportDeps } from "./report.ts";
import { healthProblemsOf, statusOf } from "./status.ts";

/** Maximum number of records in flight per partition. */
const PARTITION_RECORDS_MAX = 256;
/** Maximum number of batches in flight per partition, for a destination whose requests contain several calls. */
const PARTITION_BATCHES = 4;
/** The metadata of a commit has no room for more records than this. */
const METADATA_RECORDS_MAX = 2_048;

export interface DeliverDeps extends Omit<StageDeps, "rerouting" | "onFatal">, ReportDeps {
  readonly transport: Transport;
}

export interface DestinationConfig extends RetryPolicy, Pick<OrderConfig, "blockedMax"> {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** The number of bytes that the destination can always use for records in flight. */
  readonly maxBytes: number;
  /** Share of accepted attempts that are logged, from 0 to 1; all by default. */
  readonly attemptsShare?: number;
  /** Shared by the destinations. */
  readonly commonBudget: CommonBytes;
  /** Maximum wait for attempts in progress when a partition is revoked or the process stops. */
  readonly drainLimitMs: number;
  /** True if the destination is or was strict, so that deliveries may wait for others. */
  readonly wasStrict: boolean;
  /** Called once for each assignment: its topics may have more partitions than before. */
  readonly onAssigned: () => void;
}

/** A destination for which this changes is started again. */
export function runsAs({ kind, order, onDeadLetter }: AttemptedDestination): string {
  return `${kind}, ${order}, ${onDeadLetter}`;
}

/** A destination from the time when its consumer starts to join its group. */
export class RunningDestination implements AsyncDisposable {
  readonly runsAs: string;
  readonly joined: Promise<void>;
  readonly #deps: DeliverDeps;
  readonly #sender: Sender;
  readonly #report: Report;
  readonly #dispatcher: Dispatcher;
  /** Null if the destination is loose, and was never strict. */
  readonly #order: DestinationOrder | null;
  readonly #consumer: RunningConsumers;
  readonly #stopWatching: () => void;
  /** Aborted after the consumer has ended; ends all timers. */
  readonly #stopped = new AbortController();

  constructor(
    deps: DeliverDeps,
    config: DestinationConfig,
    started: AttemptedDestination,
    partitions: number,
  ) {
    const { id } = started;
    const { topics, groups, attemptsShare } = config;
    const sender = deps.transport.open(started);
    const report = new Report(deps, started, { sender, group: groups.deliver(id), attemptsShare });
    const timer = timerOf(deps, this.#stopped.signal);
    const fail = (error: unknown) => this.#consumer.fail(error);
    const writer = followUpWriter(
      { producer: deps.producer, clock: timer },
      topics,
      (replacement) => report.written(replacement),
      fail,
    );
    const order = config.wasStrict
      ? new DestinationOrder(deps, started, { ...config, writer, timer, fail })
      : null;
    const dispatcher = new Dispatcher(
      started,
      { policy: config, topics, partitions },
      {
        timer,
        sender,
        observer: report,
        writer: order?.writer ?? writer,
        suppressions: deps.suppressions,
      },
    );
    this.runsAs = runsAs(started);
    this.#order = order;
    this.#deps = deps;
    this.#sender = sender;
    this.#report = report;
    this.#dispatcher = dispatcher;
    this.#consumer = startConsuming(deps, {
      name: "deliver",
      destination: id,
      deadLetterTopic: topics.deadLetters,
      deadLetterHeadersOf: headersOf,
      outlivesTopics: true,
      isAudited: true,
      consume: () => [
        consumeBoth(config, id, sender, (assigned: BookedPartition) => {
          const turn = assigned.topic === topics.retries(id) ? "retry" : "queue";
          const open = (partition: FinishingPartition) => {
            // A rebalance revokes all partitions before it assigns any.
            if (report.health.partitions === 0) config.onAssigned();
            return dispatcher.own(partition, turn);
          };
          return order === null ? open(assigned) : order.own(assigned, turn, open);
        }),
      ],
      healthProblems: () => [
        ...healthProblemsOf(report.health, dispatcher.endpoints(), this.#hold()),
        ...(order?.healthProblems() ?? []),
      ],
    });
    this.joined = this.#consumer.joined;
    sender.readiness?.onChange(() => {
      report.logToken(sender.readiness?.hold() ?? null);
      dispatcher.pump();
    });
    this.#stopWatching = report.watch(() => this.#hold(), order);
    this.#apply(started, null);
  }

  /** Applies new settings of the same destination, starting with the next request. */
  update(changed: AttemptedDestination): void {
    this.#report.update(changed, this.#dispatcher.endpoints());
    this.#sender.update(changed);
    this.#apply(changed);
  }

  /** Call when operator actions have changed. */
  control(): void {
    this.#apply(this.#report.health.destination);
  }

  /** Applies a report about an endpoint from another process. */
  heard(endpoint: EndpointKey, news: News): void {
    this.#dispatcher.heard(endpoint, news);
  }

  /** Sets the number of partitions of the destination's topics. */
  setPartitions(partitions: number): void {
    this.#dispatcher.setPartitions(partitions);
  }

  healthProblems(): readonly string[] {
    const { id } = this.#report.health.destination;
    return this.#consumer.healthProblems().map((each) => `destination ${id}: ${each}`);
  }

  partitions(): readonly PartitionPlace[] {
    return this.#consumer.partitions();
  }

  status(): DestinationStatus {
    const endpoints = this.#dispatcher.endpoints();
    const nowMs = this.#deps.clock.nowMs();
    const order = this.#order?.counts() ?? null;
    return statusOf(this.#report.health, this.#hold(), endpoints, nowMs, order);
  }

  /** Attempts in progress complete, and offsets are committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#consumer[Symbol.asyncDispose]();
    this.#stopped.abort();
    this.#order?.[Symbol.dispose]();
    this.#stopWatching();
    await this.#sender.close();
  }

  #hold(): DestinationHold | null {
    const { health } = this.#report;
    // A process without partitions makes no attempts, so it needs no token.
    const missing = health.partitions === 0 ? null : (this.#sender.readiness?.hold() ?? null);
    const hold = this.#dispatcher.hold();
    const isFirst = hold?.reason === "gone" || hold?.reason === "proxy";
    const byEndpoints = isFirst ? hold : (missing ?? hold);
    return health.still ?? byEndpoints ?? this.#order?.hold() ?? null;
  }

  /** Applies settings and pauses together when either of them changes. */
  #apply(configured: AttemptedDestination, before = this.#report.health.still): void {
    const { operatorActions, clock } = this.#deps;
    const { health } = this.#report;
    const pause = operatorActions?.pauseOf(configured.id) ?? null;
    health.update(configured, clock.nowMs(), pause);
    const { id } = configured;
    const { earlyReleasesOf, goneOf } = operatorActions ?? NO_OPERATOR_ACTIONS;
    const controls = { earlyReleases: earlyReleasesOf(id), gone: goneOf(id) };
    this.#dispatcher.update(controlled(configured, pause), controls);
    this.#report.logPause(before, health.still);
  }
}

/** Sleeps and timers end when the signal aborts: a sleep rejects, and a timer is not called. */
function timerOf({ clock }: Pick<StageDeps, "clock">, ended: AbortSignal) {
  const sleep = (ms: number) => clock.sleep(ms, ended);
  const after: Timer["after"] = (ms, then) => void sleep(ms).then(then, () => undefined);
  return { nowMs: () => clock.nowMs(), sleep, after };
}

function headersOf({ headers }: IncomingRecord): RecordHeaders {
  return headers;
}

/** Large enough for a single partition to fill batches while other batches are in flight. */
export function partitionRecordsMax(limits: UnitLimits | null): number {
  const wanted = (limits?.calls ?? 0) * PARTITION_BATCHES;
  return Math.max(PARTITION_RECORDS_MAX, Math.min(wanted, METADATA_RECORDS_MAX));
}

function consumeBoth(
  { topics, groups, maxBytes, commonBudget, drainLimitMs }: DestinationConfig,
  id: DestinationId,
  sender: Pick<Sender, "limits">,
  onAssigned: OnBooked,
): StageConsumer {
  return {
    groupId: groups.deliver(id),
    topics: [topics.deliveries(id), topics.retries(id)],
    passingTopics: [topics.retries(id)],
    partitionRecordsMax: () => partitionRecordsMax(sender.limits()),
    maxBytes,
    commonBudget,
    whenFull: "hold",
    drainLimitMs,
    onAssigned,
  };
}
