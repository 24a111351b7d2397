/**
 * Delay topics back to their destinations' topics, when their records are due: a consumer and a
 * group per tier, and a wait of its own for each partition. No HTTP request is ever made here.
 *
 *   step                                        a crash after it
 *   1  the head of a partition is due           it is read and found due again
 *   2  all that is due is written back, or as   the records are written again: a repeated attempt
 *      dead letters, in one send
 *   3  dead letters of what was refused         the same
 *   4  they are acknowledged and finished       the same, until the consumer commits
 *   5  the consumer commits, now and then       nothing is repeated
 *
 * A drain waits for the sends under way; what still waits stays in its topic.
 */

import type { DeadLetter } from "../domain/given-up.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import { untilTickMs } from "../domain/tick.ts";
import { type GroupNames, type TopicNames, tierDelayMs } from "../domain/topics.ts";
import { failOnce } from "../kafka/fail-once.ts";
import { letterWriter } from "../kafka/letter-writer.ts";
import type { AssignedPartition, Consumer, PartitionHandler } from "../kafka/port.ts";
import type { StageDeps } from "../kafka/stage-deps.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import type { RunningStage } from "../runtime/stage.ts";
import { UnderWay } from "../runtime/under-way.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import { lineLimit } from "../telemetry/line-limit.ts";
import { watchConsumer } from "../telemetry/watch-consumer.ts";
import { readWaiting, type Waiting } from "./due.ts";
import { outgoingOf, tooLargeLetters } from "./outgoing.ts";
import { type Due, type KnownPlaces, takeDue } from "./partition-queue.ts";
import { createTopicList } from "./places.ts";

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

/** Records of a partition held in memory; the rest waits in the topic. */
const PARTITION_RECORDS_MAX = 2_000;
/** Records written back in one send. */
const RETURN_RECORDS_MAX = 500;
/** Longest sleep at a time, so that a clock that was set forward is noticed. */
const SLEEP_MAX_MS = 10_000;
/** What has just been parked is not due for a while. */
const FETCH_SPACING_MS = 100;
const LOOK_UP_AGAIN_MS = 1_000;
const LOG_LINES_PER_SECOND = 10;

/** Starts a consumer per tier. Topics must exist. */
export function startDelay(deps: StageDeps, config: DelayConfig): Promise<RunningStage> {
  const fail = failOnce(deps.onFatal);
  const lookUp = createLookUp(deps, config.destinations);
  const tiers = config.tiers.map((tier) => startTier(tier, deps, config, lookUp, fail));
  const watch = watchConsumer(
    deps.metrics,
    {
      progress: () => tiers.flatMap((consumer) => consumer.progress()),
      rebalances: () => tiers.reduce((sum, consumer) => sum + consumer.rebalances(), 0),
      offsetResets: () => tiers.reduce((sum, consumer) => sum + consumer.offsetResets(), 0),
    },
    { stage: "delay", destination: "" },
    deps.clock,
  );
  const stopWatching = watchWaiting(deps.metrics, config.tiers, tiers);
  const joined = Promise.all(tiers.map((consumer) => consumer.joined)).then(() => undefined);
  // A stop before the join rejects it, and then nobody may be listening.
  joined.catch(() => undefined);
  return Promise.resolve({
    name: "delay",
    joined,
    troubles: lookUp.troubles,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(tiers.map((consumer) => consumer.stop()));
      watch[Symbol.dispose]();
      stopWatching();
    },
  });
}

function watchWaiting(metrics: Metrics, names: readonly string[], consumers: readonly Consumer[]) {
  const gauges = names.map((tier) => metrics.waiting.bind({ tier }));
  return metrics.onScrape(() => {
    consumers.forEach((consumer, index) => {
      const waiting = consumer.progress().map(({ end, position }) => Math.max(0, end - position));
      gauges[index]?.set(waiting.reduce((sum, count) => sum + count, 0));
    });
  });
}

function startTier(
  tier: string,
  deps: StageDeps,
  config: DelayConfig,
  lookUp: LookUp,
  fail: (thrown: unknown) => void,
): Consumer {
  const { topics, groups, bytesMax, drainLimitMs } = config;
  const delayMs = tierDelayMs(tier);
  if (delayMs === null) throw new Error(`${tier} is no name of a delay tier`);
  const write = createWriter(tier, deps, topics.deadLetters);
  return deps.kafka.consume({
    groupId: groups.delay(tier),
    topics: [topics.delays(delayMs)],
    partitionRecordsMax: PARTITION_RECORDS_MAX,
    bytesMax,
    // One partition's head may be due long before another's.
    whenFull: "pause",
    fetchSpacingMs: FETCH_SPACING_MS,
    drainLimitMs,
    onAssigned: (partition) =>
      waitOn(partition, {
        clock: deps.clock,
        read: (record) => readWaiting(record, topics.deliveries),
        lookUp,
        write,
        fail,
      }),
    onCrash: fail,
  });
}

interface Work {
  readonly clock: Clock;
  readonly read: (record: IncomingRecord) => Waiting;
  readonly lookUp: LookUp;
  /** Resolves when all are acknowledged. */
  readonly write: (due: readonly Due[]) => Promise<void>;
  readonly fail: (thrown: unknown) => void;
}

/** The loop of one partition: wait for its head, send all that is due, and again. */
function waitOn(partition: AssignedPartition, work: Work): PartitionHandler {
  const { clock, lookUp } = work;
  const queue: Waiting[] = [];
  const draining = new AbortController();
  const sends = new UnderWay();
  let isRunning = false;

  const send = (due: readonly Due[]) => {
    const sent = work
      .write(due)
      .then(() => {
        for (const { waiting } of due) partition.finish(waiting.record.offset);
      })
      .catch(work.fail);
    sends.add(sent);
  };
  const run = async () => {
    while (!draining.signal.aborted) {
      // After a long sleep, such as a frozen process's, others may have written it back already.
      if (!(await partition.isOurs())) return;
      const step = takeDue(queue, lookUp.places, clock.nowMs(), RETURN_RECORDS_MAX);
      if (step.kind === "empty") break;
      if (step.kind === "due") send(step.due);
      else if (step.kind === "look-up") await lookUp.renew(draining.signal);
      else await sleepUntilTick(clock, step.waitMs, draining.signal);
    }
    // In the same turn as the last look at the queue, so that no `take` falls between.
    isRunning = false;
  };
  return {
    take: (records) => {
      for (const record of records) queue.push(work.read(record));
      if (isRunning || draining.signal.aborted) return;
      isRunning = true;
      run().catch((error: unknown) => {
        if (!draining.signal.aborted) work.fail(error);
      });
    },
    drain: async () => {
      draining.abort();
      queue.length = 0;
      await sends.ended();
    },
  };
}

/** What is due within a tick goes back in one send with what is due in other partitions. */
function sleepUntilTick(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  return clock.sleep(untilTickMs(clock.nowMs(), Math.min(waitMs, SLEEP_MAX_MS)), signal);
}

interface LookUp {
  readonly places: KnownPlaces;
  /** Resolves when the list of topics was asked for again, or after a while when that failed. */
  readonly renew: (signal: AbortSignal) => Promise<void>;
  readonly troubles: () => readonly string[];
}

function createLookUp({ kafka, clock }: StageDeps, destinations: readonly DestinationId[]): LookUp {
  const list = createTopicList(destinations);
  let underWay: Promise<boolean> | null = null;
  let trouble: string | null = null;

  const ask = async () => {
    try {
      list.renew(await kafka.admin.topics(), clock.nowMs());
      trouble = null;
    } catch (error) {
      trouble = `the topics cannot be listed: ${asError(error).message}`;
    }
    underWay = null;
    return trouble === null;
  };
  const renew = () => {
    underWay ??= ask();
    return underWay;
  };
  return {
    places: {
      ...list,
      exists: (topic) => {
        if (list.isOld(clock.nowMs())) void renew();
        return list.exists(topic);
      },
    },
    renew: async (signal) => {
      if (!(await renew())) await clock.sleep(LOOK_UP_AGAIN_MS, signal);
    },
    troubles: () => (trouble === null ? [] : [trouble]),
  };
}

/** Writes records back, or as dead letters, and counts them. */
function createWriter(tier: string, deps: StageDeps, deadLetterTopic: string) {
  const { producer, clock, log, metrics } = deps;
  const stage = "delay";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const recordsOut = metrics.recordsOut.bind({ stage });
  const lateness = metrics.delayLateness.bind({ tier });
  const lines = lineLimit(LOG_LINES_PER_SECOND);

  const writer = letterWriter(producer, clock, deadLetterTopic, (count) => recordsOut.inc(count));

  const given = ({ record, reason, error }: DeadLetter) => {
    metrics.deadLetters.bind({ stage, reason }).inc();
    if (reason === "invalid-call") metrics.recordsRefused.bind({ stage, reason }).inc();
    const leftOut = lines.admit(clock.nowMs());
    if (leftOut === null) return;
    const { topic, partition, offset } = record;
    log.warn({ reason, error, topic, partition, offset, leftOut }, "delay.dead-lettered");
  };
  return async (due: readonly Due[]): Promise<void> => {
    recordsIn.inc(due.length);
    const { returned, letters } = outgoingOf(due, deadLetterTopic, clock.nowMs());
    const written = await writer.write(
      returned.map(({ outgoing }) => outgoing),
      letters,
      (refused) => tooLargeLetters(returned, refused, deadLetterTopic, clock.nowMs()),
    );
    const nowMs = clock.nowMs();
    for (const { outgoing, dueAtMs } of returned) {
      if (!written.refused.has(outgoing)) lateness.observe((nowMs - dueAtMs) / 1_000);
    }
    for (const letter of written.letters) given(letter);
  };
}
