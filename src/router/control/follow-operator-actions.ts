/**
 * Follows the topic `operator-actions` (`follow-topic.ts`).
 *
 *   event                                         result
 *   the whole topic has been read once            the deliver and delay stages start
 *   it cannot be read: a permission is missing,   the stages start immediately
 *     a batch is corrupt
 *   it is unknown to the brokers, which may not   it is retried every second; the stages start 15 s after the first
 *     know yet that it was created                failure at the latest
 *   it cannot be read for any other reason: a     it is retried every second; the stages start 30 s after the first
 *     reset connection, no response, no leader    attempt at the latest
 *   it cannot be read after the start             known actions stay in force
 *   the topic is readable again, or recreated     its contents apply
 *   a record is invalid                           it is logged and has no effect
 *   there are too many actions of one kind        the same for later actions of this kind, with a health problem
 *   a process writes news of an endpoint          listeners are notified, unless the news is from before the start
 *   a pause ends                                  listeners are notified once, also if the timer fires early or
 *                                                 late, or another action arrives between the end and the timer
 *   a process describes itself                    it counts as running for 90 s after the record was read; if the
 *                                                 record is from before the start, for 90 s after it was written
 *
 * `/readyz` and the log report a topic that cannot be read. A process that cannot read it delivers even to paused
 * destinations, because an unreadable topic must not stop all deliveries.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { type FollowDeps, FollowedTopic, type WholeReading } from "./follow-topic.ts";
import { KnownOperatorActions, type OperatorActions } from "./operator-action-state.ts";
import { type EndpointNews, type ProcessRecord, readOperatorAction } from "./operator-actions.ts";

const START_LIMIT_MS = 30_000;
/**
 * Maximum length of a single sleep. After each sleep the time is checked, because the clock may have been set
 * forward.
 */
const SLEEP_MAX_MS = 10_000;
const LOG_LINES_PER_SECOND = 10;

export interface OperatorActionsDeps extends FollowDeps {
  readonly log: Log;
  /**
   * True while a broker is known to be unreachable. `kafka/cluster/outage-log.ts` logs this, so it is not logged
   * here.
   */
  readonly isUnreachable: () => boolean;
  /** How long to wait at the start for an error to end, from the first error on; 0 if it lasts. */
  readonly patienceMs: (error: unknown) => number;
}

export interface RunningOperatorActions extends OperatorActions, Disposable {
  /** Resolves when the whole topic has been read, or when it is clear that the topic cannot be read now. */
  readonly known: Promise<void>;
  /** The running processes, including this one. */
  readonly processes: () => readonly ProcessRecord[];
  /** The keys of process records that should be removed, because the processes ended long ago without removing them. */
  readonly overProcesses: () => readonly string[];
  /** Returns a sentence if the topic cannot be read, and one for each kind of action that is full. */
  readonly healthProblems: () => readonly string[];
}

type Listener = (destination: DestinationId) => void;

/** Starts reading immediately. */
export function followOperatorActions(
  deps: OperatorActionsDeps,
  topic: string,
): RunningOperatorActions {
  const following = new Following(deps, topic);
  const { clock } = deps;
  return {
    known: following.known,
    healthProblems: () => following.healthProblems(),
    processes: () => following.operations.processes(clock.nowMs()),
    overProcesses: () => following.operations.overProcesses(clock.nowMs()),
    pauseOf: (destination) => following.operations.pauseOf(destination, clock.nowMs()),
    earlyReleasesOf: (destination) => following.operations.earlyReleasesOf(destination),
    earlyReleases: () => following.operations.earlyReleases(),
    goneOf: (destination) => following.operations.goneOf(destination),
    overGone: (...of) => following.operations.overGone(...of),
    releasedThrough: (...place) => following.operations.releasedThrough(...place),
    onChange: (listener) => following.listen(listener),
    onNews: (listener) => following.hear(listener),
    [Symbol.dispose]: () => following.stop(),
  };
}

class Following {
  operations = new KnownOperatorActions();
  readonly #deps: OperatorActionsDeps;
  readonly #topic: string;
  readonly #stopped = new AbortController();
  readonly #followed: FollowedTopic;
  readonly #known = Promise.withResolvers<void>();
  readonly #listeners = new Set<Listener>();
  readonly #hearing = new Set<(news: EndpointNews) => void>();
  readonly #lines = new LineLimit(LOG_LINES_PER_SECOND);
  #firstFailureMs: number | null = null;
  #waking = new AbortController();
  /** The destinations whose pause is in force and has an end of which listeners have not been notified. */
  #ending: ReadonlySet<DestinationId> = new Set();

  constructor(deps: OperatorActionsDeps, topic: string) {
    this.#deps = deps;
    this.#topic = topic;
    const { signal } = this.#stopped;
    this.#followed = new FollowedTopic(deps, topic, {
      startReading: () => this.#startReading(),
      take: (records) => {
        for (const record of records) this.#take(record);
      },
      onFailed: (thrown, isLogged) => {
        this.#startUnlessItPasses(thrown);
        return this.#logFailure(thrown, isLogged);
      },
    });
    const start = () => this.#known.resolve();
    void this.#followed.read.then(start);
    deps.clock.sleep(START_LIMIT_MS, signal).then(start, start);
  }

  get known(): Promise<void> {
    return this.#known.promise;
  }

  hear(listener: (news: EndpointNews) => void): () => void {
    this.#hearing.add(listener);
    return () => this.#hearing.delete(listener);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  healthProblems(): readonly string[] {
    const { error } = this.#followed;
    const topic = `the topic ${this.#topic}`;
    const full = this.operations
      .fullKinds()
      .map((kind) => `${topic} contains too many ${kind}, so later ones are ignored`);
    if (error === null) return full;
    return [`${topic} cannot be read, so later operator actions are unknown: ${error}`, ...full];
  }

  stop(): void {
    this.#stopped.abort();
    this.#followed[Symbol.dispose]();
    this.#waking.abort();
  }

  #startUnlessItPasses(error: unknown): void {
    const nowMs = this.#deps.clock.nowMs();
    this.#firstFailureMs ??= nowMs;
    if (nowMs - this.#firstFailureMs >= this.#deps.patienceMs(error)) this.#known.resolve();
  }

  #startReading(): WholeReading {
    const operations = new KnownOperatorActions();
    return {
      take: (record) => void this.#apply(record, operations, record.timestampMs),
      done: () => {
        const before = this.operations;
        this.operations = operations;
        this.#tell([...before.destinations(), ...operations.destinations()]);
      },
    };
  }

  /** Handles a record that is written while this process runs. */
  #take(record: IncomingRecord): void {
    const operation = readOperatorAction(record);
    if (operation.kind === "endpoint") {
      for (const listener of this.#hearing) listener(operation.news);
      return;
    }
    const destination = this.#apply(record, this.operations, this.#deps.clock.nowMs());
    if (destination !== null) this.#tell([destination]);
  }

  /** Returns the destination that the record is about, if any. */
  #apply(
    record: IncomingRecord,
    operations: KnownOperatorActions,
    atMs: number,
  ): DestinationId | null {
    const operation = readOperatorAction(record);
    if (operation.kind === "refused") {
      this.#refused(record, operation.error);
      return null;
    }
    if (!operations.apply(operation, atMs))
      this.#refused(record, "there are too many operator actions");
    switch (operation.kind) {
      case "pause":
        return operation.pause.destination;
      case "release":
        return operation.earlyRelease.destination;
      case "gone":
        return operation.gone.destination;
      case "resume":
      case "forget-release":
      case "forget-gone":
        return operation.destination;
      case "endpoint":
      case "process":
      case "forget-process":
      case "released":
      case "forget-released":
        return null;
    }
  }

  #tell(destinations: Iterable<DestinationId>): void {
    const nowMs = this.#deps.clock.nowMs();
    const over = [...this.#ending].filter((each) => this.operations.pauseOf(each, nowMs) === null);
    this.#ending = new Set(this.operations.ending(nowMs).map(({ destination }) => destination));
    for (const destination of new Set([...destinations, ...over])) {
      for (const listener of this.#listeners) listener(destination);
    }
    this.#wakeAtNextEnd(nowMs);
  }

  /** Checks again when the next pause ends. */
  #wakeAtNextEnd(nowMs: number): void {
    this.#waking.abort();
    if (this.#stopped.signal.aborted) return;
    this.#waking = new AbortController();
    const ends = this.operations.ending(nowMs).map(({ untilMs }) => untilMs);
    if (ends.length === 0) return;
    const leftMs = Math.min(...ends) - nowMs;
    this.#deps.clock.sleep(Math.min(Math.max(1, leftMs), SLEEP_MAX_MS), this.#waking.signal).then(
      () => this.#tell([]),
      () => undefined,
    );
  }

  #logFailure(thrown: unknown, isLogged: boolean): boolean {
    if (isLogged || this.#deps.isUnreachable()) return isLogged;
    const error = asError(thrown).message;
    this.#deps.log.error({ topic: this.#topic, error }, "operator-actions.read-failed");
    return true;
  }

  #refused({ topic, partition, offset }: IncomingRecord, error: string): void {
    const omittedLines = this.#lines.admit(this.#deps.clock.nowMs());
    if (omittedLines === null) return;
    this.#deps.log.warn(
      { topic, partition, offset, error, omittedLines },
      "operator-actions.invalid-record",
    );
  }
}
