/**
 * A stage with consumers that all destinations share.
 *
 *   a consumer fails because of        then
 *   a corrupt batch                    it is halted: restarted with increasing delays until the batch is
 *                                      gone or was skipped; log, metric and `/readyz` show its offset.
 *                                      Other stages and destinations continue
 *   ... with `onCorruptBatch: skip`    it is skipped, with a log line and a metric. If its end is
 *                                      unknown, it halts the stage all the same
 *   one of our topics is missing       it waits until the topic exists again
 *   an error that `outlives` accepts   the stage is restarted with increasing delays; log, metric and
 *                                      `/readyz` show it. Other stages and destinations continue
 *   anything else                      the stage cannot continue, and the program ends
 *
 * A consumer of one destination is always restarted on its own (`keep-consuming.ts`). A halt commits
 * everything that was processed before the batch, so a restart repeats nothing.
 *
 *   step of a stop                     after a crash
 *   1  the consumers drain and commit  nothing is repeated
 *   2  the stage closes its resources  the same
 *   3  its gauges are removed          the same
 */

import { type CorruptBatch, corruptBatchOf, type OnCorruptBatch } from "../domain/corrupt-batch.ts";
import type { IncomingRecord, RecordHeaders } from "../domain/record.ts";
import type { StageName } from "../domain/stages.ts";
import { ClosedError, type ConsumeOptions, type ConsumerVitals } from "../kafka/port.ts";
import { asError } from "../runtime/as-error.ts";
import { type KeptConsumer, keepConsuming } from "./keep-consuming.ts";
import { givingUpOmitted } from "./oversized-records.ts";
import type { RunningStage } from "./running-stage.ts";
import type { StageDeps } from "./stage-deps.ts";
import { foreignText, watchConsumer } from "./watch-consumer.ts";

/** Reports that the stage cannot continue. */
export type Fail = (thrown: unknown) => void;

export interface ConsumingStage {
  readonly name: StageName;
  readonly deadLetterTopic: string;
  /** The headers of a record that a dead letter keeps; by default those of producers. */
  readonly deadLetterHeadersOf?: (record: IncomingRecord) => RecordHeaders;
  /** Options for each consumer. `fail` is for their handlers. */
  readonly consume: (fail: Fail) => readonly Omit<ConsumeOptions, "onCrash">[];
  readonly healthProblems: () => readonly string[];
  readonly update?: RunningStage["update"];
  /** Default: `stop`. */
  readonly onCorruptBatch?: OnCorruptBatch | undefined;
  /** Its topics are our own: a missing one is waited for instead of ending the program. */
  readonly outlivesTopics?: boolean;
  /** Returns `true` if the stage is restarted after this failure of a handler, as often as needed. */
  readonly outlives?: (error: Error) => boolean;
  /** Called when the consumers have stopped. */
  readonly close?: () => Promise<void>;
}

export interface RunningConsumers extends RunningStage {
  /** In the order of `consume`. */
  readonly consumers: readonly KeptConsumer[];
}

/** Starts joining immediately. Topics must exist. */
export function startConsuming(deps: StageDeps, stage: ConsumingStage): RunningConsumers {
  const { name, healthProblems } = stage;
  const end = failOnce(deps.onFatal);
  const fail: Fail = (thrown) => {
    const error = asError(thrown);
    if (stage.outlives?.(error) !== true) return end(thrown);
    for (const consumer of consumers) consumer.fail(error);
  };
  const giveUpOmitted = givingUpOmitted(
    deps,
    name,
    stage.deadLetterTopic,
    stage.deadLetterHeadersOf,
  );
  const consumers: readonly KeptConsumer[] = stage.consume(fail).map((options) => {
    const onAssigned = giveUpOmitted(options.onAssigned, fail);
    return consume(deps, stage, { ...options, onAssigned }, end);
  });
  const halts = () =>
    consumers.flatMap((consumer) => {
      const healthProblem = consumer.healthProblem();
      return healthProblem === null ? [] : [`halted: ${healthProblem}`];
    });
  const watch = watchConsumer(
    deps.metrics,
    together(consumers),
    { stage: name, destination: "" },
    deps.clock,
  );
  const joined = Promise.all(consumers.map((consumer) => consumer.joined)).then(() => undefined);
  // A stop before the join rejects this promise, when nobody may be listening.
  joined.catch(() => undefined);
  return {
    name,
    joined,
    healthProblems: () => [
      ...halts(),
      ...foreignText(together(consumers).vitals()),
      ...healthProblems(),
    ],
    ...(stage.update === undefined ? {} : { update: stage.update }),
    consumers,
    partitions: () => consumers.flatMap((consumer) => consumer.progress()),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await stage.close?.();
      watch[Symbol.dispose]();
    },
  };
}

function consume(
  { kafka, clock, log, metrics, keeper }: StageDeps,
  { name, onCorruptBatch, outlivesTopics = false, outlives = () => false }: ConsumingStage,
  options: Omit<ConsumeOptions, "onCrash">,
  end: Fail,
): KeptConsumer {
  const restarts = metrics.consumerRestarts.bind({ stage: name, destination: "" });
  const tell = (error: Error, waitMs: number) => {
    const corrupt = corruptBatchOf(error);
    const fields = { stage: name, topics: options.topics, error: error.message };
    const isOutlived = corrupt === null && outlives(error);
    if (corrupt === null && !isOutlived) return log.error(fields, "consumer.crashed");
    restarts.inc();
    const retryAt = new Date(clock.nowMs() + waitMs).toISOString();
    if (corrupt === null) return log.error({ ...fields, retryAt }, "stage.restarting");
    const { topic, partition, offset } = corrupt;
    log.error({ ...fields, topic, partition, offset, retryAt }, "stage.halted");
  };
  const skipped = options.topics.map((topic) =>
    metrics.batchesSkipped.bind({ stage: name, topic }),
  );
  const onSkipped = ({ topic, partition, offset, behind, corruption }: CorruptBatch) => {
    skipped[options.topics.indexOf(topic)]?.inc();
    const place = { topic, partition, firstOffset: offset, lastOffset: behind - 1 };
    log.error({ stage: name, ...place, corruption }, "stage.corrupt-batch-skipped");
  };
  const isHalt = (error: Error) => corruptBatchOf(error) !== null || outlives(error);
  const kept = { keeper: outlivesTopics ? keeper : undefined, giveUp: end, isHalt };
  const skipping = onCorruptBatch === "skip" ? { onSkipped } : {};
  return keepConsuming(kafka, { ...options, ...skipping }, clock, tell, kept);
}

/**
 * Calls `act` at most once. A closed producer is not a failure: the program closes it after the
 * stages, and the records will be read again.
 */
function failOnce(act: (error: Error) => void): Fail {
  let isDone = false;
  return (thrown) => {
    if (isDone || thrown instanceof ClosedError) return;
    isDone = true;
    act(asError(thrown));
  };
}

function together(consumers: readonly KeptConsumer[]) {
  const sum = (of: (consumer: KeptConsumer) => number) =>
    consumers.reduce((total, consumer) => total + of(consumer), 0);
  return {
    progress: () => consumers.flatMap((consumer) => consumer.progress()),
    vitals: () => stalest(consumers.map((consumer) => consumer.vitals())),
    rebalances: () => sum((consumer) => consumer.rebalances()),
    offsetResets: () => sum((consumer) => consumer.offsetResets()),
    haltedAt: () => consumers.flatMap((consumer) => consumer.haltedAt() ?? []),
  };
}

/** One consumer that stalls must be visible among many that continue. */
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
  };
}
