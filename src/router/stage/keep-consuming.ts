/**
 * Keeps a consumer running by restarting it when it crashes (docs/guarantees.md#restarts).
 *
 *   it crashed after                  it is restarted after
 *   less than a minute                1 s, then 2 s, 4 s, ... at most 60 s
 *   a minute or more                  1 s
 *   any time, its topic is missing    when the topic exists again
 *   any time, its topic was missing   as after any other crash: the topic existed again at the first check
 */

import type { Clock } from "../../base/runtime/clock.ts";
import {
  type ConsumeOptions,
  type Consumer,
  type ConsumerVitals,
  type Kafka,
  type PartitionProgress,
  TopicGoneError,
} from "../../kafka/port.ts";
import type { TopicKeeper } from "./topic-keeper.ts";

const NO_LIFE: ConsumerVitals = {
  isAssigned: false,
  fetchedAtMs: null,
  heardAtMs: null,
  commitFailures: 0,
  foreignMembers: [],
  unreadTopics: [],
  halts: [],
};
const WAIT_MIN_MS = 1_000;
const WAIT_MAX_MS = 60_000;

export interface Keeping {
  readonly keeper?: TopicKeeper | undefined;
  /**
   * If present, called after a crash, and the consumer is not restarted. Exceptions are a crash that `outlives` accepts,
   * and a missing topic that a keeper recreates.
   */
  readonly giveUp?: (error: Error) => void;
  /** Returns `true` if, even with `giveUp`, the consumer is restarted after this crash, as often as needed. */
  readonly outlives?: (error: Error) => boolean;
}

export class KeptConsumer implements Consumer {
  readonly joined: Promise<void>;
  readonly #hasJoined: () => void;
  readonly #kafka: Kafka;
  readonly #options: Omit<ConsumeOptions, "onCrash">;
  readonly #clock: Clock;
  readonly #onRestart: (error: Error, waitMs: number) => void;
  readonly #keeping: Keeping;
  readonly #stopped = new AbortController();
  /** Null from a crash until the next start. */
  #consumer: Consumer | null = null;
  /** Set by a crash: resolves when the consumer that crashed has stopped. */
  #ending: Promise<void> | undefined;
  #startedAtMs = 0;
  /** The wait before the next start: doubled by each crash, reset by a minute without one. */
  #waitMs = WAIT_MIN_MS;
  /** The sums of the counters of all consumers that have ended. */
  #rebalances = 0;
  #offsetResets = 0;
  #commitFailures = 0;
  #last: ConsumerVitals = NO_LIFE;
  #lastError = "";

  /** @param onRestart called after each crash, with the time until the next start. */
  constructor(
    kafka: Kafka,
    options: Omit<ConsumeOptions, "onCrash">,
    clock: Clock,
    onRestart: (error: Error, waitMs: number) => void,
    keeping: Keeping = {},
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.joined = promise;
    this.#hasJoined = resolve;
    this.#kafka = kafka;
    this.#options = options;
    this.#clock = clock;
    this.#onRestart = onRestart;
    this.#keeping = keeping;
    this.#start();
  }

  /** Stops the current consumer and starts another one, as after a crash. */
  fail(error: Error): void {
    this.#crashed(this.#consumer, error);
  }

  /** Returns why there is no consumer at the moment; null if there is one. */
  healthProblem(): string | null {
    return this.#consumer === null ? this.#lastError : null;
  }

  progress(): readonly PartitionProgress[] {
    return this.#consumer?.progress() ?? [];
  }

  vitals(): ConsumerVitals {
    return lifeOf(this.#consumer?.vitals() ?? NO_LIFE, this.#last, this.#commitFailures);
  }

  rebalances(): number {
    return this.#rebalances + (this.#consumer?.rebalances() ?? 0);
  }

  offsetResets(): number {
    return this.#offsetResets + (this.#consumer?.offsetResets() ?? 0);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#ending;
    await this.#consumer?.stop();
  }

  #start(): void {
    this.#startedAtMs = this.#clock.nowMs();
    const own = this.#kafka.consume({
      ...this.#options,
      onCrash: (error) => this.#crashed(own, error),
    });
    this.#consumer = own;
    // If a consumer ends before it has joined, this promise rejects. The crash is handled elsewhere.
    own.joined.then(this.#hasJoined, () => undefined);
  }

  #crashed(own: Consumer | null, error: Error): void {
    if (own === null || own !== this.#consumer || this.#stopped.signal.aborted) return;
    this.#consumer = null;
    this.#rebalances += own.rebalances();
    this.#offsetResets += own.offsetResets();
    this.#last = own.vitals();
    this.#commitFailures += this.#last.commitFailures;
    if (this.#clock.nowMs() - this.#startedAtMs >= WAIT_MAX_MS) this.#waitMs = WAIT_MIN_MS;
    const thisWaitMs = this.#waitMs;
    this.#waitMs = Math.min(2 * thisWaitMs, WAIT_MAX_MS);
    this.#lastError = error.message;
    this.#onRestart(error, thisWaitMs);
    const ending = own.stop().catch(() => undefined);
    this.#ending = ending;
    ending
      .then(() => this.#startAgain(error, thisWaitMs))
      .catch((thrown: unknown) => {
        if (!this.#stopped.signal.aborted) throw thrown;
      });
  }

  async #startAgain(error: Error, thisWaitMs: number): Promise<void> {
    const { keeper, giveUp, outlives } = this.#keeping;
    const { signal } = this.#stopped;
    const wasGone = await keeper?.untilThere(this.#options.topics, signal);
    signal.throwIfAborted();
    // A missing topic may exist again before it is checked.
    const staysWrong = !(keeper !== undefined && error instanceof TopicGoneError);
    if (wasGone === true) this.#waitMs = WAIT_MIN_MS;
    else if (giveUp !== undefined && staysWrong && outlives?.(error) !== true) return giveUp(error);
    else await this.#clock.sleep(thisWaitMs, signal);
    this.#start();
  }
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
    unreadTopics: now.unreadTopics,
    halts: now.halts,
  };
}
