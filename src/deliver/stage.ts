/**
 * Destination topics to signed webhooks: a consumer and a group per destination, so that none waits
 * for another.
 *
 *   step                                              a crash after it
 *   1  the requests of an attempt are sent            the attempt is made again
 *   2a accepted: the offset is finished               the same, until the consumer commits
 *   2b else: delay topic or dead letter is written    the record goes on twice: here, and there
 *      and acknowledged, then the offset is finished
 *   3  the consumer commits, now and then             nothing is repeated
 *
 * So an offset is committed only when everything before it is delivered, parked or a dead letter.
 * The same holds for both topics of a destination: its line, and the deliveries that come back. A
 * line that is held is not written anywhere, and a crash finds it as it was.
 * A drain starts nothing new, and waits at most `drainLimitMs` for attempts under way. The rest is
 * left to the partition's next owner: a graceful stop repeats nothing.
 *
 * A consumer that crashes (its topic deleted, a right missing) is started again alone, later each
 * time; the other destinations do not notice.
 */

import type { WebhookDestination } from "../domain/destination.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import {
  ClosedError,
  type CommonBytes,
  commonBytes,
  type Kafka,
  type Producer,
} from "../kafka/port.ts";
import { packRecord } from "../kafka/wire/pack-record.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import { startInTurn } from "../runtime/start-in-turn.ts";
import { keepConsuming } from "../stage/keep-consuming.ts";
import { givingUpOmitted } from "../stage/omitted-values.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import type { TopicKeeper } from "../stage/topic-keeper.ts";
import { watchConsumer } from "../stage/watch-consumer.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";
import type { HttpPort } from "./attempt.ts";
import { DestinationWork } from "./destination-work.ts";
import { gatherWrites } from "./gather-writes.ts";
import { type Replacement, smaller } from "./replacement.ts";
import { createReport, type Report } from "./report.ts";

/** Unfinished records of a partition; they bound the commit's metadata. */
const PARTITION_RECORDS_MAX = 256;
/**
 * More joins at a time wait for the broker rather than for us, and a group that cannot be joined
 * must not keep the others from starting.
 */
const STARTING = { atOnce: 16, joinLimitMs: 30_000 };

export interface DeliverDeps {
  readonly kafka: Kafka;
  /** Shared by the stages of the process; the caller closes it after them. */
  readonly producer: Producer;
  readonly http: HttpPort;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Makes topics again that are gone; absent: nobody does. */
  readonly keeper?: TopicKeeper;
}

export interface DeliverConfig {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  readonly destinations: readonly WebhookDestination[];
  /** Delay before the next attempt by times parked; the last one repeats. Never falling. */
  readonly delaysMs: readonly number[];
  /** From the first attempt; at most 4 h. */
  readonly windowMs: number;
  /** Bytes of unfinished records that each destination may have in any case. */
  readonly maxBytes: number;
  /** Bytes that a destination may have beyond that, shared by all of them. */
  readonly commonMaxBytes: number;
  /** Longest wait for attempts under way when a partition or the process goes. */
  readonly drainLimitMs: number;
}

/** Starts a consumer per destination, 16 at a time; `joined` tells when all are there. */
export function startDeliver(deps: DeliverDeps, config: DeliverConfig): Promise<RunningStage> {
  const running = new Map<DestinationId, RunningDestination>();
  const stopped = new AbortController();
  const joined = startAll(deps, config, stopped.signal, running);
  return Promise.resolve({
    name: "deliver",
    joined,
    troubles: () => [...running.values()].flatMap(({ troubles }) => troubles()),
    [Symbol.asyncDispose]: async () => {
      stopped.abort();
      await Promise.all([...running.values()].map((one) => one[Symbol.asyncDispose]()));
    },
  });
}

async function startAll(
  deps: DeliverDeps,
  config: DeliverConfig,
  stopped: AbortSignal,
  running: Map<DestinationId, RunningDestination>,
): Promise<void> {
  const { destinations, topics } = config;
  const limited = destinations.filter(({ requestsPerSecond }) => requestsPerSecond !== null);
  const names = limited.map(({ id }) => topics.deliveries(id));
  const described = names.length === 0 ? [] : await deps.kafka.admin.describe(names, []);
  const partitions = new Map(described.map((topic) => [topic.name, topic.partitions]));
  const commonBudget = commonBytes(config.commonMaxBytes);
  await startInTurn(destinations, STARTING, stopped, deps.clock, (destination) => {
    // One more for what is due again.
    const total = (partitions.get(topics.deliveries(destination.id)) ?? 1) + 1;
    const started = startDestination(deps, config, destination, total, commonBudget);
    running.set(destination.id, started);
    return started.joined;
  });
}

type RunningDestination = Omit<RunningStage, "name">;

function startDestination(
  deps: DeliverDeps,
  config: DeliverConfig,
  destination: WebhookDestination,
  partitions: number,
  commonBudget: CommonBytes,
): RunningDestination {
  const { kafka, clock, log, metrics } = deps;
  const { id } = destination;
  const { topics, groups, maxBytes, drainLimitMs } = config;
  const stopped = new AbortController();
  const sleep = (ms: number) => clock.sleep(ms, stopped.signal);
  const connections = deps.http.open(destination);
  const report = createReport(deps, destination);
  const policy = { delaysMs: config.delaysMs, windowMs: config.windowMs };
  const gather = gatherWrites<Replacement>({ nowMs: () => clock.nowMs(), sleep }, (replacements) =>
    write(deps, topics, replacements, report).catch((error: unknown) => {
      fail(error);
      throw error;
    }),
  );
  const fail = (error: unknown) => {
    // The process is about to end; the records stay unfinished.
    if (!(error instanceof ClosedError)) consumer.fail(asError(error));
  };
  const giveUpOmitted = givingUpOmitted(deps, "deliver", topics.deadLetters, (one) => one.headers);
  const work = new DestinationWork(destination, policy, topics, {
    nowMs: () => clock.nowMs(),
    after: (ms, then) => {
      sleep(ms).then(then, () => undefined);
    },
    connections,
    write: (replacements, ended) => gather(replacements.map(packed), ended),
    onStart: report.started,
    onAttempted: report.attempted,
    onRounded: report.rounded,
    onBreaker: report.breaker,
    partitions,
  });
  const restarts = metrics.consumerRestarts.bind({ stage: "deliver", destination: id });
  const consumer = keepConsuming(
    kafka,
    {
      groupId: groups.deliver(id),
      topics: [topics.deliveries(id), topics.returns(id)],
      passingTopics: [topics.returns(id)],
      partitionRecordsMax: PARTITION_RECORDS_MAX,
      maxBytes,
      commonBudget,
      whenFull: "hold",
      drainLimitMs,
      onAssigned: giveUpOmitted((partition) => {
        const isReturn = partition.topic === topics.returns(id);
        const owned = work.own(partition, isReturn ? "retry" : "line");
        return {
          take: (records) => {
            report.taken(records.length);
            owned.take(records);
          },
          drain: owned.drain,
        };
      }, fail),
    },
    clock,
    (error, waitMs) => {
      restarts.inc();
      log.error({ destination: id, error: error.message, waitMs }, "deliver.consumer-restarts");
    },
    { keeper: deps.keeper },
  );
  const stopWatching = report.watchLine(() => work.lineHeld());
  const watch = watchConsumer(metrics, consumer, { stage: "deliver", destination: id }, clock);
  return {
    joined: consumer.joined,
    troubles: () => {
      const trouble = consumer.trouble();
      const restarts = trouble === null ? [] : [`the consumer starts again: ${trouble}`];
      const open = work.openEndpoints().map((key) => `endpoint ${key} keeps failing, left alone`);
      return [...restarts, ...open].map((each) => `destination ${id}: ${each}`);
    },
    [Symbol.asyncDispose]: async () => {
      await consumer.stop();
      stopped.abort();
      watch[Symbol.dispose]();
      stopWatching();
      await connections.close();
    },
  };
}

/** It waits for others, and should keep alive nothing but itself. */
function packed(replacement: Replacement): Replacement {
  return { ...replacement, outgoing: packRecord(replacement.outgoing) };
}

/**
 * Writes the records that take a record's place; too large ones are replaced by something smaller.
 */
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
      throw new Error(`The topic ${topics.deadLetters} takes no dead letters: ${error}`);
    }
    await write(deps, topics, [instead], report);
  }
}
