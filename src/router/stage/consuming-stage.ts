/**
 * The consumers of a stage, or of one destination in the deliver stage. Each consumer gets records with their schemas
 * (`await-schemas.ts`), dead-letters records that are too large (`oversized-records.ts`), and is watched
 * (`watch-consumer.ts`).
 *
 *   a consumer reaches                 then
 *   a corrupt batch                    its partition is halted: the batch is read again after 1 to 60 s until
 *                                      it is intact or skipped; log, metric and `/readyz` show the offset.
 *                                      Other partitions, stages and destinations continue
 *   ... with `onCorruptBatch: skip`    the batch is skipped, with a log line and a metric. If its end is
 *                                      unknown, it still halts the partition
 *
 *   a consumer fails because of        then
 *   a missing topic of Switchyard      it waits until the topic exists again
 *   an error that `outlives` accepts   the stage is restarted with increasing delays; log, metric and
 *                                      `/readyz` show it. Other stages and destinations continue
 *   anything else                      the stage cannot continue, and the program ends
 *
 * A destination's consumer is restarted separately after every failure (`keep-consuming.ts`).
 *
 *   step of a stop                     if the process crashes after it
 *   1  the consumers drain and commit  nothing is repeated
 *   2  the stage closes its resources  the same
 *   3  its gauges are removed          the same
 */

import { asError } from "../../base/runtime/as-error.ts";
import { corruptBatchOf, type OnCorruptBatch } from "../../domain/corrupt-batch.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { LostRecords } from "../../domain/lost-records.ts";
import type { IncomingRecord, RecordHeaders } from "../../domain/record.ts";
import type { StageName } from "../../domain/stages.ts";
import {
  ClosedError,
  type ConsumeOptions,
  type ConsumerVitals,
  type PartitionProgress,
} from "../../kafka/port.ts";
import { type OnBooked, StageLedger } from "../ledger/stage-ledger.ts";
import { awaitSchemas } from "./await-schemas.ts";
import { KeptConsumer } from "./keep-consuming.ts";
import { deadLetterOversized } from "./oversized-records.ts";
import type { RunningStage, StageDeps } from "./running-stage.ts";
import {
  groupTexts,
  haltTexts,
  LossReport,
  type WatchedConsumer,
  watchConsumer,
} from "./watch-consumer.ts";

/** Reports that the stage cannot continue. */
export type Fail = (thrown: unknown) => void;

export type ConsumingDeps = Pick<
  StageDeps,
  "kafka" | "producer" | "clock" | "log" | "metrics" | "keeper" | "schemas" | "rerouting" | "ledger"
> &
  Partial<Pick<StageDeps, "onFatal">>;

export interface StageConsumer
  extends Omit<ConsumeOptions, "onCrash" | "onAssigned" | "beforeCommit"> {
  readonly onAssigned: OnBooked;
}

export interface ConsumingStage {
  readonly name: StageName;
  /** The destination whose records are consumed; absent if all destinations share the consumers. */
  readonly destination?: DestinationId;
  readonly deadLetterTopic: string;
  /** Returns the headers of a record that its dead letter keeps; by default, those that producers sent. */
  readonly deadLetterHeadersOf?: (record: IncomingRecord) => RecordHeaders;
  /** Returns the options for each consumer. The handlers of the consumers call `fail` if they cannot continue. */
  readonly consume: (fail: Fail) => readonly StageConsumer[];
  /** True if the stage adds the outcome of each record to the partition's `book`. */
  readonly isAudited?: true;
  /** False if the stage passes values on without reading them, so that it need not wait for schemas. */
  readonly readsValues?: false;
  readonly healthProblems: () => readonly string[];
  readonly update?: RunningStage["update"];
  /** Default: `stop`. */
  readonly onCorruptBatch?: OnCorruptBatch | undefined;
  /**
   * True if Switchyard owns the stage's topics. If one of them is missing, the stage then waits for it instead of
   * ending the program.
   */
  readonly outlivesTopics?: boolean;
  /**
   * Returns `true` if the consumers are restarted after this failure, without a limit on the number of restarts. By default, only a
   * destination's consumers are restarted.
   */
  readonly outlives?: (error: Error) => boolean;
  /** Called when the consumers have stopped. */
  readonly close?: () => Promise<void>;
}

export interface RunningConsumers extends RunningStage {
  /** The consumers in the order in which `consume` returned their options. */
  readonly consumers: readonly KeptConsumer[];
  readonly partitions: () => readonly PartitionProgress[];
  readonly fail: Fail;
}

/** Starts to join immediately. The topics must exist. */
export function startConsuming(deps: ConsumingDeps, stage: ConsumingStage): RunningConsumers {
  const { name, destination, healthProblems } = stage;
  const outlives = stage.outlives ?? (() => destination !== undefined);
  const end = failOnce((error) => deps.onFatal?.(error));
  const fail: Fail = (thrown) => {
    // The process is about to stop; the records stay unprocessed.
    if (thrown instanceof ClosedError) return;
    const error = asError(thrown);
    if (!outlives(error)) return end(error);
    for (const consumer of consumers) consumer.fail(error);
  };
  const oversized = deadLetterOversized(
    deps,
    name,
    stage.deadLetterTopic,
    stage.deadLetterHeadersOf,
  );
  const labels = { stage: name, destination: destination ?? "" };
  const losses = new LossReport(deps, labels);
  const schemas = stage.readsValues === false ? undefined : deps.schemas;
  const consumers: readonly KeptConsumer[] = stage.consume(fail).map((options) => {
    const { onAssigned: own, passingTopics } = options;
    const handled = oversized(awaitSchemas(schemas, own, fail), fail, passingTopics);
    const isAudited = deps.ledger !== undefined && stage.isAudited === true;
    const ledger = isAudited ? new StageLedger(deps.ledger, options.groupId) : null;
    const onAssigned = ledger?.booked(handled) ?? handled;
    const onLost = (lost: LostRecords) => losses.add(lost);
    const beforeCommit = ledger === null ? {} : { beforeCommit: ledger.beforeCommit };
    const consumed = { ...options, onAssigned, onLost, ...beforeCommit };
    return consume(deps, { ...stage, outlives }, consumed, end);
  });
  const all = new AllConsumers(consumers);
  const watch = watchConsumer(deps.metrics, all, labels, deps.clock);
  const joined = Promise.all(consumers.map((consumer) => consumer.joined)).then(() => undefined);
  // If the stage is stopped before it has joined, this promise rejects, possibly before anything handles the rejection.
  joined.catch(() => undefined);
  return {
    name,
    joined,
    healthProblems: () => [
      ...consumers.flatMap(consumerProblem),
      ...groupTexts(all.vitals()),
      ...losses.healthProblems(),
      ...healthProblems(),
    ],
    ...(stage.update === undefined ? {} : { update: stage.update }),
    consumers,
    fail,
    partitions: () => all.progress(),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await stage.close?.();
      watch[Symbol.dispose]();
      losses[Symbol.dispose]();
    },
  };
}

function consumerProblem(consumer: KeptConsumer): readonly string[] {
  const problem = consumer.healthProblem();
  return problem === null ? haltTexts(consumer.vitals()) : [`restarting: ${problem}`];
}

function consume(
  { kafka, clock, log, metrics, keeper }: ConsumingDeps,
  stage: ConsumingStage & Required<Pick<ConsumingStage, "outlives">>,
  options: Omit<ConsumeOptions, "onCrash">,
  end: Fail,
): KeptConsumer {
  const { name, destination, outlives } = stage;
  const restarts = metrics.consumerRestarts.bind({ stage: name, destination: destination ?? "" });
  const retryAtOf = (waitMs: number) => new Date(clock.nowMs() + waitMs).toISOString();
  const tell = (error: Error, waitMs: number) => {
    const fields = { stage: name, topics: options.topics, error: error.message };
    if (!outlives(error)) return log.error(fields, "consumer.crashed");
    restarts.inc();
    const retryAt = retryAtOf(waitMs);
    if (destination !== undefined) {
      const ofDestination = { stage: name, destination, error: error.message, retryAt };
      return log.error(ofDestination, "destination.consumer-restarting");
    }
    log.error({ ...fields, retryAt }, "stage.restarting");
  };
  const onHalted = (error: Error, waitMs: number) => {
    const { topic = "", partition = -1, offset = -1 } = corruptBatchOf(error) ?? {};
    const where = { stage: name, destination: destination ?? "", topic, partition, offset };
    log.error({ ...where, error: error.message, retryAt: retryAtOf(waitMs) }, "stage.halted");
  };
  const kept = {
    keeper: stage.outlivesTopics === true ? keeper : undefined,
    giveUp: end,
    outlives,
  };
  const skips = stage.onCorruptBatch === "skip";
  const skipping = skips ? skipBatches(log, metrics, name, options) : {};
  const consumed = { ...options, onHalted, ...skipping };
  return new KeptConsumer(kafka, consumed, clock, tell, kept);
}

/** The counter of skipped batches is created with the value 0, so that the first skipped batch shows as an increase. */
function skipBatches(
  log: ConsumingDeps["log"],
  metrics: ConsumingDeps["metrics"],
  stage: StageName,
  { topics }: Pick<ConsumeOptions, "topics">,
): Pick<ConsumeOptions, "onSkipped"> {
  const skipped = topics.map((topic) => metrics.batchesSkipped.bind({ stage, topic }));
  return {
    onSkipped: ({ topic, partition, offset, behind, corruption }) => {
      skipped[topics.indexOf(topic)]?.inc();
      const place = { topic, partition, firstOffset: offset, lastOffset: behind - 1 };
      log.error({ stage, ...place, corruption }, "stage.corrupt-batch-skipped");
    },
  };
}

/**
 * Returns a function that calls `act` at most once. The error of a closed producer does not count as a
 * failure, because the program closes the producer only after it has stopped the stages, and the records will be read
 * again.
 */
function failOnce(act: (error: Error) => void): Fail {
  let isDone = false;
  return (thrown) => {
    if (isDone || thrown instanceof ClosedError) return;
    isDone = true;
    act(asError(thrown));
  };
}

class AllConsumers implements WatchedConsumer {
  readonly #consumers: readonly KeptConsumer[];

  constructor(consumers: readonly KeptConsumer[]) {
    this.#consumers = consumers;
  }

  progress(): readonly PartitionProgress[] {
    return this.#consumers.flatMap((consumer) => consumer.progress());
  }

  vitals(): ConsumerVitals {
    return stalest(this.#consumers.map((consumer) => consumer.vitals()));
  }

  rebalances(): number {
    return this.#consumers.reduce((sum, consumer) => sum + consumer.rebalances(), 0);
  }

  offsetResets(): number {
    return this.#consumers.reduce((sum, consumer) => sum + consumer.offsetResets(), 0);
  }
}

/** Combines the vitals of all consumers so that a single stalled consumer is visible, even if many others continue. */
function stalest(all: readonly ConsumerVitals[]): ConsumerVitals {
  const earliest = (times: readonly (number | null)[]) =>
    times.length === 0 || times.includes(null)
      ? null
      : Math.min(...times.filter((atMs) => atMs !== null));
  return {
    isAssigned: all.every(({ isAssigned }) => isAssigned),
    fetchedAtMs: earliest(all.map(({ fetchedAtMs }) => fetchedAtMs)),
    heardAtMs: earliest(all.map(({ heardAtMs }) => heardAtMs)),
    commitFailures: all.reduce((sum, { commitFailures }) => sum + commitFailures, 0),
    foreignMembers: [...new Set(all.flatMap(({ foreignMembers }) => foreignMembers))],
    unreadTopics: [...new Set(all.flatMap(({ unreadTopics }) => unreadTopics))],
    halts: all.flatMap(({ halts }) => halts),
  };
}
