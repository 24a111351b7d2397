/**
 * Keeps a consumer running by restarting it when it crashes (docs/isolation.md#restarts).
 *
 *   it crashed after                  it is restarted after
 *   less than a minute                1 s, then 2 s, 4 s, ... at most 60 s
 *   a minute or more                  1 s
 *   any time, its topic is missing    when the topic exists again
 *   any time, its topic was missing   as after any other crash: the topic existed again at the first check
 */

import { type CorruptBatch, corruptBatchOf } from "../domain/corrupt-batch.ts";
import {
  type ConsumeOptions,
  type Consumer,
  type ConsumerVitals,
  type Kafka,
  type PartitionProgress,
  TopicGoneError,
} from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import type { TopicKeeper } from "./topic-keeper.ts";

const NO_LIFE: ConsumerVitals = {
  isAssigned: false,
  fetchedAtMs: null,
  heardAtMs: null,
  commitFailures: 0,
  foreignMembers: [],
};
const WAIT_MIN_MS = 1_000;
const WAIT_MAX_MS = 60_000;

export interface KeptConsumer extends Consumer {
  /** Stops the current consumer and starts another one, as after a crash. */
  fail(error: Error): void;
  /**
   * Returns why there is no consumer at the moment, or why the consumer is halted; null if it runs and is not halted.
   */
  healthProblem(): string | null;
  /** Returns the corrupt batch that halts the consumer, even between restarts; null if there is none. */
  haltedAt(): CorruptBatch | null;
}

export interface Keeping {
  readonly keeper?: TopicKeeper | undefined;
  /**
   * If present, called after a crash, and the consumer is not restarted. Exceptions are a halt, and a missing topic
   * that a keeper recreates.
   */
  readonly giveUp?: (error: Error) => void;
  /** Returns `true` if, even with `giveUp`, the consumer is restarted after this crash, as often as needed. */
  readonly isHalt?: (error: Error) => boolean;
}

/** @param onRestart called after each crash, with the time until the next start. */
export function keepConsuming(
  kafka: Kafka,
  options: Omit<ConsumeOptions, "onCrash">,
  clock: Clock,
  onRestart: (error: Error, waitMs: number) => void,
  { keeper, giveUp, isHalt }: Keeping = {},
): KeptConsumer {
  const stopped = new AbortController();
  const joined = Promise.withResolvers<void>();
  let consumer: Consumer | null = null;
  let ending: Promise<void> = Promise.resolve();
  let startedAtMs = 0;
  let waitMs = WAIT_MIN_MS;
  /** The sums of the counters of all consumers that have ended. */
  const before = { rebalances: 0, offsetResets: 0, commitFailures: 0 };
  let last: ConsumerVitals = NO_LIFE;
  let lastError = "";
  let joinedAtMs: number | null = null;
  let corrupt: CorruptBatch | null = null;

  function start(): void {
    startedAtMs = clock.nowMs();
    joinedAtMs = null;
    const own = kafka.consume({ ...options, onCrash: (error) => crashed(own, error) });
    consumer = own;
    const hasJoined = () => {
      if (consumer === own) joinedAtMs = clock.nowMs();
      joined.resolve();
    };
    // If a consumer ends before it has joined, this promise rejects. The crash is handled elsewhere.
    own.joined.then(hasJoined, () => undefined);
  }

  function crashed(own: Consumer | null, error: Error): void {
    if (own === null || own !== consumer || stopped.signal.aborted) return;
    // The batch is updated first, so that a batch that was skipped is not reported again after another crash.
    haltedAt();
    consumer = null;
    before.rebalances += own.rebalances();
    before.offsetResets += own.offsetResets();
    last = own.vitals();
    before.commitFailures += last.commitFailures;
    if (clock.nowMs() - startedAtMs >= WAIT_MAX_MS) waitMs = WAIT_MIN_MS;
    const thisWaitMs = waitMs;
    waitMs = Math.min(2 * waitMs, WAIT_MAX_MS);
    lastError = error.message;
    corrupt = corruptBatchOf(error) ?? corrupt;
    onRestart(error, thisWaitMs);
    ending = own.stop().catch(() => undefined);
    ending
      .then(() => startAgain(error, thisWaitMs))
      .catch((thrown: unknown) => {
        if (!stopped.signal.aborted) throw thrown;
      });
  }

  async function startAgain(error: Error, thisWaitMs: number): Promise<void> {
    const wasGone = await keeper?.untilThere(options.topics, stopped.signal);
    stopped.signal.throwIfAborted();
    // A missing topic may exist again before it is checked.
    const staysWrong = !(keeper !== undefined && error instanceof TopicGoneError);
    if (wasGone === true) waitMs = WAIT_MIN_MS;
    else if (giveUp !== undefined && staysWrong && isHalt?.(error) !== true) return giveUp(error);
    else await clock.sleep(thisWaitMs, stopped.signal);
    start();
  }

  function haltedAt(): CorruptBatch | null {
    const joinedForMs = joinedAtMs === null ? null : clock.nowMs() - joinedAtMs;
    const own = consumer === null ? null : { progress: consumer.progress(), joinedForMs };
    if (corrupt !== null && !stillHalts(corrupt, own)) corrupt = null;
    return corrupt;
  }

  start();
  return {
    joined: joined.promise,
    fail: (error) => crashed(consumer, error),
    healthProblem: () => (consumer === null || haltedAt() !== null ? lastError : null),
    haltedAt,
    progress: (): readonly PartitionProgress[] => consumer?.progress() ?? [],
    vitals: () => lifeOf(consumer?.vitals() ?? NO_LIFE, last, before.commitFailures),
    rebalances: () => before.rebalances + (consumer?.rebalances() ?? 0),
    offsetResets: () => before.offsetResets + (consumer?.offsetResets() ?? 0),
    stop: async () => {
      stopped.abort();
      await ending;
      await consumer?.stop();
    },
  };
}

/**
 * Combines the values of the new consumer with those of the previous consumer. A previous value applies until there is
 * a new one.
 */
function lifeOf(now: ConsumerVitals, before: ConsumerVitals, failures: number): ConsumerVitals {
  return {
    isAssigned: now.isAssigned,
    fetchedAtMs: now.fetchedAtMs ?? before.fetchedAtMs,
    heardAtMs: now.heardAtMs ?? before.heardAtMs,
    commitFailures: failures + now.commitFailures,
    foreignMembers: now.foreignMembers,
  };
}

/**
 * Decides whether a corrupt batch still halts a consumer that is being restarted.
 *
 *   the consumer                                       the batch halts it
 *   is not running, or has not joined                  yes: it has not reached the batch again
 *   owns the partition, and has not read past it       yes
 *   owns the partition, and has read past it           no: the batch was skipped or repaired
 *   joined less than 15 s ago, without the partition   yes: another assignment may follow
 *   joined earlier, without the partition              no: another process owns it now
 */

/** After this time, the first rebalances of a new member are over. */
const ELSEWHERE_AFTER_MS = 15_000;

interface HaltedConsumer {
  readonly progress: readonly PartitionProgress[];
  /** Time since the consumer joined; null if it has not joined. */
  readonly joinedForMs: number | null;
}

/** @param consumer null if there is no consumer at the moment. */
export function stillHalts(batch: CorruptBatch, consumer: HaltedConsumer | null): boolean {
  if (consumer === null || consumer.joinedForMs === null) return true;
  const owned = consumer.progress.find(
    ({ topic, partition }) => topic === batch.topic && partition === batch.partition,
  );
  if (owned === undefined) return consumer.joinedForMs < ELSEWHERE_AFTER_MS;
  return owned.next < batch.behind;
}
