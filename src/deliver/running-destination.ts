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

import type { Sender, Transport, UnitLimits } from "../destinations/port.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import type { DestinationStatus } from "../domain/destination-status.ts";
import type { DestinationId, EndpointKey } from "../domain/ids.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import {
  type AssignedPartition,
  type CommonBytes,
  type ConsumeOptions,
  type PartitionHandler,
  packRecord,
} from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import { startConsuming } from "../stage/consuming-stage.ts";
import type { OwnedPartition, StageDeps } from "../stage/running-stage.ts";
import type { WorkPorts } from "./active-attempt.ts";
import { traceAttempt } from "./attempt-trace.ts";
import { type AttemptsTopic, attemptsOf, notingPhases } from "./attempts-topic.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import { DestinationHealth } from "./destination-health.ts";
import { DestinationWork } from "./destination-work.ts";
import type { DestinationHold, News } from "./endpoint-availability.ts";
import type { NewsOfEndpoints } from "./endpoint-news.ts";
import { gatherWrites, type Replacement, smaller } from "./follow-up-record.ts";
import { controlled } from "./hold-cause.ts";
import { createReport, type Report } from "./report.ts";
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

export interface RunningDestination extends AsyncDisposable {
  readonly kind: string;
  readonly joined: Promise<void>;
  readonly healthProblems: () => readonly string[];
  readonly partitions: () => readonly OwnedPartition[];
  readonly status: () => DestinationStatus;
  /** Applies new settings of the same destination, starting with the next request. */
  readonly update: (destination: AttemptedDestination) => void;
  /** Call when operator actions have changed. */
  readonly control: () => void;
  /** Applies a report about an endpoint from another process. */
  readonly heard: (endpoint: EndpointKey, news: News) => void;
  /** Sets the number of partitions of the destination's topics, including those that other processes own. */
  readonly partitionsAre: (partitions: number) => void;
}

/**
 * Starts to join the consumer group immediately. When the caller disposes the result, attempts in progress complete,
 * and offsets are committed.
 */
export function startDestination(
  deps: DeliverDeps,
  config: DestinationConfig,
  started: AttemptedDestination,
  partitions: number,
): RunningDestination {
  const { clock } = deps;
  const { id, kind } = started;
  const { topics, groups } = config;
  const stopped = new AbortController();
  const sleep = (ms: number) => clock.sleep(ms, stopped.signal);
  const sender = notingPhases(deps.transport.open(started), deps.attempts);
  const notes = attemptsOf(started, deps.attempts);
  const report = createReport(deps, started, config.attemptsShare);
  const gather = gatherWrites<Replacement>({ nowMs: () => clock.nowMs(), sleep }, (replacements) =>
    write(deps, topics, replacements, report).catch((error: unknown) => {
      consumer.fail(error);
      throw error;
    }),
  );
  const work = new DestinationWork(started, config, topics, {
    nowMs: () => clock.nowMs(),
    after: (ms, then) => void sleep(ms).then(then, () => undefined),
    sender,
    trace: tracesOf(deps, sender, groups.deliver(id)),
    write: (replacements, ended) => gather(replacements.map(packed), ended),
    onStart: report.started,
    onResult: report.result,
    onUnreadable: report.unreadable,
    onAttempted: (attempted) => {
      condition.attempted(attempted);
      report.attempted(attempted);
      notes?.add(attempted);
    },
    onRounded: report.rounded,
    onCircuit: report.breaker,
    ...(deps.news === undefined ? {} : { tell: deps.news.teller(id) }),
    partitions,
  });
  const condition = new DestinationHealth(started, clock.nowMs());
  const own = owning({ work, condition, report, clock, retries: topics.retries(id) });
  const hold = () => holdOf(condition, work, sender);
  const consumer = startConsuming(deps, {
    name: "deliver",
    destination: id,
    deadLetterTopic: topics.deadLetters,
    deadLetterHeadersOf: ({ headers }) => headers,
    outlivesTopics: true,
    consume: () => [consumeBoth(config, id, sender.limits(), own)],
    healthProblems: () => healthProblemsOf(condition, work, hold()),
  });
  sender.readiness?.onChange(() => {
    report.token(sender.readiness?.hold() ?? null);
    work.proceed();
  });
  const stopWatching = report.watch(condition, hold);
  const goBy = goingBy(deps, { condition, work, report });
  goBy(started, null);
  return {
    kind,
    joined: consumer.joined,
    update: (changed) => {
      report.showEndpoints(changed, work.endpoints());
      sender.update(changed);
      notes?.update(changed);
      goBy(changed);
    },
    control: () => goBy(condition.destination),
    heard: (endpoint, news) => work.heard(endpoint, news),
    partitionsAre: (count) => work.partitionsAre(count),
    healthProblems: () => consumer.healthProblems().map((each) => `destination ${id}: ${each}`),
    partitions: () => consumer.partitions(),
    status: () => statusOf(condition, hold(), work.endpoints(), clock.nowMs()),
    [Symbol.asyncDispose]: async () => {
      await consumer[Symbol.asyncDispose]();
      stopped.abort();
      stopWatching();
      await sender.close();
    },
  };
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

interface Owning {
  readonly work: DestinationWork;
  readonly condition: DestinationHealth;
  readonly report: Report;
  readonly clock: Clock;
  readonly retries: string;
}

function owning({ work, condition, report, clock, retries }: Owning) {
  return (partition: AssignedPartition): PartitionHandler => {
    const owned = work.own(partition, partition.topic === retries ? "retry" : "queue");
    condition.own(clock.nowMs());
    let isLeft = false;
    return {
      take: (records) => {
        report.taken(records.length);
        owned.take(records);
      },
      drain: () => {
        if (!isLeft) condition.leave(clock.nowMs());
        isLeft = true;
        return owned.drain();
      },
    };
  };
}

function holdOf(
  { still, partitions }: DestinationHealth,
  work: DestinationWork,
  { readiness }: Sender,
): DestinationHold | null {
  // A process without partitions makes no attempts, so it needs no token.
  const missing = partitions === 0 ? null : (readiness?.hold() ?? null);
  return still ?? missing ?? work.hold();
}

function tracesOf(
  { tracing, clock }: DeliverDeps,
  sender: Sender,
  group: string,
): NonNullable<WorkPorts["trace"]> {
  const ports = { tracing, sender, nowMs: () => clock.nowMs(), group };
  return (calls, { traceparent }) => traceAttempt(ports, calls, traceparent);
}

/** Settings and pauses are applied together when either of them changes. */
function goingBy(
  { clock, operatorActions }: DeliverDeps,
  { condition, work, report }: Pick<Owning, "condition" | "work" | "report">,
) {
  return (configured: AttemptedDestination, before = condition.still): void => {
    const pause = operatorActions?.pauseOf(configured.id) ?? null;
    condition.update(configured, clock.nowMs(), pause);
    work.update(controlled(configured, pause));
    work.cancel(operatorActions?.earlyReleasesOf(configured.id) ?? []);
    report.still(before, condition.still);
  };
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
