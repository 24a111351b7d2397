/**
 * Runs one destination: its consumer, deliveries, sender, metrics and logs. `stage.ts` describes when records count as
 * processed.
 *
 *   step of an update, or of a pause               because
 *   1  metrics show the new endpoints              a change of a circuit needs its gauge
 *   2  the sender uses the new settings            deliveries that start in step 3 are sent with them
 *   3  `DestinationWork` uses the new settings     deliveries that may start now are started
 *
 * An update does not affect the consumer, which stays in its group and keeps its partitions.
 */

import type { AttemptedDestination } from "../../domain/destination.ts";
import type { CircuitState, DestinationStatus } from "../../domain/destination-status.ts";
import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord, PartitionPlace, RecordHeaders } from "../../domain/record.ts";
import type { GroupNames, TopicNames } from "../../domain/topics.ts";
import {
  type AssignedPartition,
  type CommonBytes,
  type ConsumeOptions,
  type PartitionHandler,
  packRecord,
} from "../../kafka/port.ts";
import type { Phases, Sender, SendResult, Transport, UnitLimits } from "../destinations/port.ts";
import { type RunningConsumers, startConsuming } from "../stage/consuming-stage.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { Attempted, WorkPorts } from "./active-attempt.ts";
import { type AttemptTrace, type TracedCall, traceAttempt } from "./attempt-trace.ts";
import { type AttemptNotes, type AttemptsTopic, attemptsOf } from "./attempts-topic.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import { DestinationHealth } from "./destination-health.ts";
import { DestinationWork } from "./destination-work.ts";
import type { DestinationHold, News } from "./endpoint-availability.ts";
import type { NewsOfEndpoints } from "./endpoint-news.ts";
import { type Ended, GatheredWrites, type Replacement, smaller } from "./follow-up-record.ts";
import { controlled } from "./hold-cause.ts";
import { Report } from "./report.ts";
import { healthProblemsOf, statusOf } from "./status.ts";

/** Maximum number of records in flight per partition. */
const PARTITION_RECORDS_MAX = 256;
/** Maximum number of batches in flight per partition, for a destination whose requests contain several calls. */
const PARTITION_BATCHES = 4;
/** The metadata of a commit has no room for more records than this. */
const METADATA_RECORDS_MAX = 2_048;

export interface DeliverDeps extends Omit<StageDeps, "rerouting" | "onFatal"> {
  readonly transport: Transport;
  /** Shared by the destinations; absent if attempts are not recorded. */
  readonly attempts?: AttemptsTopic;
  /** Exchanges reports about endpoints with other processes; absent if none are exchanged. */
  readonly news?: NewsOfEndpoints;
}

export interface DestinationConfig extends RetryPolicy {
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
}

/** A destination from the time when its consumer starts to join its group. */
export class RunningDestination implements AsyncDisposable {
  readonly kind: string;
  readonly joined: Promise<void>;
  readonly #deps: DeliverDeps;
  readonly #ports: Ports;
  readonly #work: DestinationWork;
  readonly #consumer: RunningConsumers;
  readonly #stopWatching: () => void;

  constructor(
    deps: DeliverDeps,
    config: DestinationConfig,
    started: AttemptedDestination,
    partitions: number,
  ) {
    const { id, kind } = started;
    const { topics } = config;
    const ports = new Ports(deps, config, started, partitions, (error) =>
      this.#consumer.fail(error),
    );
    const work = new DestinationWork(started, config, topics, ports);
    const { sender, report, condition } = ports;
    const own = (partition: AssignedPartition) => {
      const turn = partition.topic === topics.retries(id) ? "retry" : "queue";
      return new ReportedPartition(work.own(partition, turn), ports);
    };
    this.kind = kind;
    this.#deps = deps;
    this.#ports = ports;
    this.#work = work;
    this.#consumer = startConsuming(deps, {
      name: "deliver",
      destination: id,
      deadLetterTopic: topics.deadLetters,
      deadLetterHeadersOf: headersOf,
      outlivesTopics: true,
      consume: () => [consumeBoth(config, id, sender.limits(), own)],
      healthProblems: () => healthProblemsOf(condition, work, this.#hold()),
    });
    this.joined = this.#consumer.joined;
    sender.readiness?.onChange(() => {
      report.token(sender.readiness?.hold() ?? null);
      work.proceed();
    });
    this.#stopWatching = report.watch(condition, () => this.#hold());
    this.#goBy(started, null);
  }

  /** Applies new settings of the same destination, starting with the next request. */
  update(changed: AttemptedDestination): void {
    const { report, sender, notes } = this.#ports;
    report.showEndpoints(changed, this.#work.endpoints());
    sender.update(changed);
    notes?.update(changed);
    this.#goBy(changed);
  }

  /** Call when operator actions have changed. */
  control(): void {
    this.#goBy(this.#ports.condition.destination);
  }

  /** Applies a report about an endpoint from another process. */
  heard(endpoint: EndpointKey, news: News): void {
    this.#work.heard(endpoint, news);
  }

  /** Sets the number of partitions of the destination's topics. */
  partitionsAre(partitions: number): void {
    this.#work.partitionsAre(partitions);
  }

  healthProblems(): readonly string[] {
    const { id } = this.#ports.condition.destination;
    return this.#consumer.healthProblems().map((each) => `destination ${id}: ${each}`);
  }

  partitions(): readonly PartitionPlace[] {
    return this.#consumer.partitions();
  }

  status(): DestinationStatus {
    const { condition } = this.#ports;
    return statusOf(condition, this.#hold(), this.#work.endpoints(), this.#ports.nowMs());
  }

  /** Attempts in progress complete, and offsets are committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#consumer[Symbol.asyncDispose]();
    this.#ports.stop();
    this.#stopWatching();
    await this.#ports.sender.close();
  }

  #hold(): DestinationHold | null {
    const { condition, sender } = this.#ports;
    // A process without partitions makes no attempts, so it needs no token.
    const missing = condition.partitions === 0 ? null : (sender.readiness?.hold() ?? null);
    return condition.still ?? missing ?? this.#work.hold();
  }

  /** Applies settings and pauses together when either of them changes. */
  #goBy(configured: AttemptedDestination, before = this.#ports.condition.still): void {
    const { operatorActions } = this.#deps;
    const { condition, report } = this.#ports;
    const pause = operatorActions?.pauseOf(configured.id) ?? null;
    condition.update(configured, this.#ports.nowMs(), pause);
    this.#work.update(controlled(configured, pause));
    this.#work.cancel(operatorActions?.earlyReleasesOf(configured.id) ?? []);
    report.still(before, condition.still);
  }
}

/** What the work of a destination needs from its process. */
class Ports implements WorkPorts {
  readonly sender: Sender;
  readonly notes: AttemptNotes | null;
  readonly report: Report;
  readonly condition: DestinationHealth;
  readonly tracing;
  readonly group: string;
  readonly partitions: number;
  readonly #deps: DeliverDeps;
  readonly #stopped = new AbortController();
  readonly #writes: GatheredWrites<Replacement>;

  /** @param fail called if nothing more can be written. */
  constructor(
    deps: DeliverDeps,
    { topics, groups, attemptsShare }: DestinationConfig,
    started: AttemptedDestination,
    partitions: number,
    fail: (error: unknown) => void,
  ) {
    this.#deps = deps;
    this.sender = deps.transport.open(started);
    this.notes = attemptsOf(started, deps.attempts);
    this.report = new Report(deps, started, attemptsShare);
    this.condition = new DestinationHealth(started, deps.clock.nowMs());
    this.tracing = deps.tracing;
    this.group = groups.deliver(started.id);
    this.partitions = partitions;
    this.#writes = new GatheredWrites(this, (replacements) =>
      write(deps, topics, replacements, this.report).catch((error: unknown) => {
        fail(error);
        throw error;
      }),
    );
  }

  stop(): void {
    this.#stopped.abort();
  }

  nowMs(): number {
    return this.#deps.clock.nowMs();
  }

  sleep(ms: number): Promise<void> {
    return this.#deps.clock.sleep(ms, this.#stopped.signal);
  }

  after(ms: number, then: () => void): void {
    void this.sleep(ms).then(then, () => undefined);
  }

  trace(calls: readonly TracedCall[], { traceparent }: AttemptedDestination): AttemptTrace | null {
    return traceAttempt(this, calls, traceparent);
  }

  phases(): Phases | undefined {
    return this.#deps.attempts?.phases();
  }

  write(replacements: readonly Replacement[], ended: Ended): void {
    this.#writes.add(replacements.map(packed), ended);
  }

  onStart(): void {
    this.report.started();
  }

  onResult(result: SendResult): void {
    this.report.result(result);
  }

  onUnreadable(): void {
    this.report.unreadable();
  }

  onAttempted(attempted: Attempted): void {
    this.condition.attempted(attempted);
    this.report.attempted(attempted);
    this.notes?.add(attempted);
  }

  onRounded(): void {
    this.report.rounded();
  }

  onCircuit(endpoint: EndpointKey, state: CircuitState): void {
    this.report.breaker(endpoint, state);
  }

  tell(endpoint: EndpointKey, news: News): void {
    const { id } = this.condition.destination;
    this.#deps.news?.tell(id, this.report.named(endpoint).id, endpoint, news);
  }
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
  limits: UnitLimits | null,
  onAssigned: ConsumeOptions["onAssigned"],
): Omit<ConsumeOptions, "onCrash"> {
  return {
    groupId: groups.deliver(id),
    topics: [topics.deliveries(id), topics.retries(id)],
    passingTopics: [topics.retries(id)],
    partitionRecordsMax: partitionRecordsMax(limits),
    maxBytes,
    commonBudget,
    whenFull: "hold",
    drainLimitMs,
    onAssigned,
  };
}

/** Reports what happens to a partition. */
class ReportedPartition implements PartitionHandler {
  readonly #handler: PartitionHandler;
  readonly #ports: Ports;
  #isLeft = false;

  constructor(handler: PartitionHandler, ports: Ports) {
    this.#handler = handler;
    this.#ports = ports;
    ports.condition.own(ports.nowMs());
  }

  take(records: readonly IncomingRecord[]): void {
    this.#ports.report.taken(records.length);
    this.#handler.take(records);
  }

  drain(): Promise<void> {
    if (!this.#isLeft) this.#ports.condition.leave(this.#ports.nowMs());
    this.#isLeft = true;
    return this.#handler.drain();
  }
}

/**
 * Copies the replacement without references to other objects. The copy waits until it is written, and must
 * not keep anything else in memory during that time.
 */
function packed(replacement: Replacement): Replacement {
  return { ...replacement, outgoing: packRecord(replacement.outgoing) };
}

/** Writes the records that replace a delivery. Records that are too large are replaced with smaller ones. */
async function write(
  deps: DeliverDeps,
  topics: TopicNames,
  replacements: readonly Replacement[],
  report: Report,
): Promise<void> {
  const refused = await deps.producer.send(replacements.map(({ outgoing }) => outgoing));
  const errors = new Map(refused.map(({ record, error }) => [record, error]));
  for (const each of replacements) {
    const error = errors.get(each.outgoing);
    if (error === undefined) {
      report.written(each);
      continue;
    }
    const instead = smaller(each, error, topics, deps.clock.nowMs());
    if (instead === null) {
      throw new Error(`Cannot write dead letters to the topic ${topics.deadLetters}: ${error}`);
    }
    await write(deps, topics, [instead], report);
  }
}
