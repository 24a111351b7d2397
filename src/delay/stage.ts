/**
 * Delay topics back to their destinations' topics, when their records are due: a consumer and a
 * group per tier, and a wait of its own for each partition. No HTTP request is ever made here.
 *
 *   step                                        a crash after it
 *   1  the head of a partition is due           it is read and found due again
 *   2  all that is due is written back, or as   the records are written again: a repeated attempt
 *      dead letters, in one send
 *   3  dead letters of what was refused; what   the same; those that go around are then there
 *      its topic does not take goes around      twice
 *   4  they are acknowledged and finished       the same, until the consumer commits
 *   5  the consumer commits, now and then       nothing is repeated
 *
 * A drain waits for the sends under way; the other records stay in their topic.
 *
 * Beside that, all that waits is counted (`counting.ts`). Nothing else depends on it.
 */

import { callNames } from "../domain/call-names.ts";
import type { DeadLetter } from "../domain/given-up.ts";
import type { IncomingRecord } from "../domain/record.ts";
import { untilTickMs } from "../domain/tick.ts";
import { type GroupNames, tierDelayMs } from "../domain/topics.ts";
import type { AssignedPartition, ConsumeOptions, PartitionHandler } from "../kafka/port.ts";
import { asError } from "../runtime/as-error.ts";
import { Bag, type Bagged } from "../runtime/bag.ts";
import type { Clock } from "../runtime/clock.ts";
import { UnderWay } from "../runtime/under-way.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { letterWriter } from "../stage/letter-writer.ts";
import { oneAtATime } from "../stage/one-at-a-time.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { destinationOf } from "../telemetry/count-letters.ts";
import { lineLimit } from "../telemetry/line-limit.ts";
import { type Counted, startCounting } from "./counting.ts";
import { readWaiting, type Waiting } from "./due.ts";
import { Labels } from "./labels.ts";
import { outgoingOf } from "./outgoing.ts";
import { OwnedCounts } from "./owned-counts.ts";
import { type Due, type KnownPlaces, takeDue } from "./partition-queue.ts";
import { createTopicList } from "./places.ts";
import { type DelayTraces, delayTraces } from "./trace.ts";

export interface DelayConfig extends Counted {
  readonly groups: GroupNames;
  /** Names of tiers whose topics exist: those configured and retired ones still to be drained. */
  readonly tiers: readonly string[];
  /** Bytes of waiting records of one tier that are held in memory. */
  readonly maxBytes: number;
  readonly drainLimitMs: number;
}

/** Records of a partition held in memory; the rest waits in the topic. */
const PARTITION_RECORDS_MAX = 2_000;
/** Records written back in one send. */
const RETURN_RECORDS_MAX = 500;
/** Longest sleep at a time, so that a clock that was set forward is noticed. */
const SLEEP_MAX_MS = 10_000;
/** Records that have just been parked are not due for a while. */
const FETCH_SPACING_MS = 100;
const LOOK_UP_AGAIN_MS = 1_000;
const LOG_LINES_PER_SECOND = 10;

/** Starts a consumer per tier. Topics must exist. */
export function startDelay(deps: StageDeps, config: DelayConfig): Promise<RunningStage> {
  const lookUp = createLookUp(deps);
  const labels = new Labels(config.destinations);
  const counts = new OwnedCounts(labels);
  const running = startConsuming(deps, {
    name: "delay",
    deadLetterTopic: config.topics.deadLetters,
    letterHeadersOf: ({ headers }) => headers,
    consume: (fail) =>
      config.tiers.map((tier) => consumeTier(tier, deps, config, { lookUp, counts, fail })),
    troubles: () => [...lookUp.troubles(), ...counting.troubles()],
    update: ({ destinations }) => labels.configure(destinations.map(({ id }) => id)),
    outlivesTopics: true,
    close: () => counting.stop(),
  });
  const counting = startCounting(deps, config, { labels, counts }, running.consumers);
  return Promise.resolve(running);
}

function consumeTier(
  tier: string,
  deps: StageDeps,
  config: DelayConfig,
  shared: Pick<Work, "lookUp" | "counts" | "fail">,
): Omit<ConsumeOptions, "onCrash"> {
  const { topics, groups, maxBytes, drainLimitMs } = config;
  const delayMs = tierDelayMs(tier);
  if (delayMs === null) throw new Error(`${tier} is no name of a delay tier`);
  const traces = delayTraces(deps.tracing, tier, groups.delay(tier));
  const write = createWriter(tier, deps, topics.deadLetters, traces);
  return {
    groupId: groups.delay(tier),
    topics: [topics.delays(delayMs)],
    partitionRecordsMax: PARTITION_RECORDS_MAX,
    maxBytes,
    // One partition's head may be due long before another's.
    whenFull: "pause",
    fetchSpacingMs: FETCH_SPACING_MS,
    drainLimitMs,
    onAssigned: (partition) =>
      waitOn(partition, {
        ...shared,
        tier,
        clock: deps.clock,
        read: (record) => readWaiting(record, topics, delayMs, deps.clock.nowMs()),
        write,
      }),
  };
}

interface Work {
  readonly tier: string;
  readonly clock: Clock;
  readonly read: (record: IncomingRecord) => Waiting;
  readonly lookUp: LookUp;
  readonly counts: OwnedCounts;
  /** Resolves when all are acknowledged. */
  readonly write: (due: readonly Due[]) => Promise<void>;
  readonly fail: Fail;
}

/** Records that are being written back. */
interface Sending extends Bagged {
  readonly waiting: readonly Waiting[];
}

/** The loop of one partition: wait for its head, send all that is due, and again. */
function waitOn(partition: AssignedPartition, work: Work): PartitionHandler {
  const { clock, lookUp } = work;
  const queue: Waiting[] = [];
  const draining = new AbortController();
  const sends = new UnderWay();
  const sending = new Bag<Sending>();
  const count = work.counts.begin({
    tier: work.tier,
    topic: partition.topic,
    partition: partition.partition,
    inHand: () => [...sending.all().flatMap(({ waiting }) => waiting), ...queue],
    isOver: () => draining.signal.aborted,
  });

  const send = (due: readonly Due[]) => {
    const own = { place: -1, waiting: due.map(({ waiting }) => waiting) };
    sending.add(own);
    const sent = work
      .write(due)
      .then(() => {
        for (const { waiting } of due) partition.finish(waiting.record.offset);
        sending.delete(own);
      })
      .catch(work.fail);
    sends.add(sent);
  };
  const step = async () => {
    // After a long sleep, such as a frozen process's, others may have written it back already.
    if (!(await partition.isOurs())) draining.abort();
    if (draining.signal.aborted) return;
    const next = takeDue(queue, lookUp.places, clock.nowMs(), RETURN_RECORDS_MAX);
    if (next.kind === "due") send(next.due);
    else if (next.kind === "look-up") await lookUp.renew(draining.signal);
    else if (next.kind === "wait") await sleepUntilTick(clock, next.waitMs, draining.signal);
  };
  const returning = oneAtATime(
    () => (queue.length === 0 || draining.signal.aborted ? null : step()),
    (thrown) => {
      if (!draining.signal.aborted) work.fail(thrown);
    },
  );
  return {
    take: (records) => {
      const taken = records.map(work.read);
      queue.push(...taken);
      count.took(taken);
      returning.wake();
    },
    drain: async () => {
      draining.abort();
      queue.length = 0;
      await sends.ended();
    },
  };
}

/** Records that are due within a tick go back in one send with those of other partitions. */
function sleepUntilTick(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  return clock.sleep(untilTickMs(clock.nowMs(), Math.min(waitMs, SLEEP_MAX_MS)), signal);
}

interface LookUp {
  readonly places: KnownPlaces;
  /** Resolves when the list of topics was asked for again, or after a while when that failed. */
  readonly renew: (signal: AbortSignal) => Promise<void>;
  readonly troubles: () => readonly string[];
}

function createLookUp({ kafka, clock, around }: StageDeps): LookUp {
  const list = createTopicList(around?.rules.isMade);
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
function createWriter(
  tier: string,
  deps: StageDeps,
  deadLetterTopic: string,
  traces: () => DelayTraces,
) {
  const { clock, log, metrics } = deps;
  const stage = "delay";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const lateness = metrics.delayLateness.bind({ tier });
  const lines = lineLimit(LOG_LINES_PER_SECOND);
  // The records here are written by us: its headers say what a replay needs.
  const writer = letterWriter(deps, stage, deadLetterTopic, ({ headers }) => headers);

  const given = ({ record, reason, error, outgoing }: DeadLetter) => {
    const destination = destinationOf(outgoing);
    metrics.deadLetters.bind({ stage, reason, destination }).inc();
    if (reason === "invalid-call") metrics.recordsRefused.bind({ stage, reason }).inc();
    const linesLeftOut = lines.admit(clock.nowMs());
    if (linesLeftOut === null) return;
    const { topic, partition, offset } = record;
    const names = { stage, tier, destination, ...callNames(outgoing.headers) };
    const place = { topic, partition, offset };
    log.warn({ ...names, reason, error, ...place, linesLeftOut }, "delivery.dead-lettered");
  };
  return async (due: readonly Due[]): Promise<void> => {
    recordsIn.inc(due.length);
    const traced = traces();
    const { returned, givenUp } = outgoingOf(due, traced.begin);
    const { refused, letters } = await writer.write(returned, givenUp);
    const nowMs = clock.nowMs();
    traced.end(nowMs);
    for (const { records, dueAtMs } of returned) {
      if (records.some((record) => refused.has(record))) continue;
      lateness.observe((nowMs - dueAtMs) / 1_000);
    }
    for (const letter of letters) given(letter);
  };
}
