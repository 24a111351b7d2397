/**
 * Follows the topic `operator-actions`: reads it whole, then each record as it is written. It belongs to no
 * group. While nothing is written it makes one request in five seconds, on a connection of its own.
 *
 *   what happens                                  then
 *   the topic is read whole for the first time    deliver and delay start
 *   it cannot be read: a right is missing, no     they start all the same, at the latest 30 s after
 *   leader for it, a damaged batch                the first try; `/readyz` and the log say so, and it is
 *                                                 tried again every 5 s
 *   the same later                                what is known stays in force
 *   it can be read again, or was made anew        it is read whole, and what it says then counts
 *   a record is refused                           log, and nothing else changes
 *   a process writes news of an endpoint          those who listen are told, if it is written now
 *   the time of a pause is over                   those who listen are told
 *   a process describes itself                    it is known for 90 s, from when that is read; of what
 *                                                 was written before the start, from when it was written
 *
 * A process that does not know of a pause delivers: one topic must not stop all destinations.
 */

import type { DestinationId } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { Kafka } from "../kafka/port.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";
import { lineLimit } from "../telemetry/log-rate-limit.ts";
import { KnownOperatorActions, type OperatorActions } from "./operator-action-state.ts";
import {
  type EndpointNews,
  OPERATIONS_PARTITION,
  type ProcessRecord,
  readOperatorAction,
} from "./operator-actions.ts";

const STEP_BYTES = 1_048_576;
const TRY_AGAIN_MS = 5_000;
const START_LIMIT_MS = 30_000;
/** Longest sleep at a time, so that a clock that was set forward is noticed. */
const SLEEP_MAX_MS = 10_000;
const LOG_LINES_PER_SECOND = 10;

export interface OperatorActionsDeps {
  readonly kafka: Pick<Kafka, "admin" | "read" | "follow">;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a broker is known to be away: that has a line of its own. */
  readonly isUnreachable: () => boolean;
}

export interface RunningOperatorActions extends OperatorActions, Disposable {
  /** Resolves when the topic was read whole, or cannot be for now. */
  readonly known: Promise<void>;
  /** Those that run, this one too. */
  readonly processes: () => readonly ProcessRecord[];
  /** Keys of records that processes left behind long ago. */
  readonly overProcesses: () => readonly string[];
  /** A sentence while it cannot be read. */
  readonly healthProblems: () => readonly string[];
}

type Listener = (destination: DestinationId) => void;

/** Begins at once. */
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
  readonly #known = Promise.withResolvers<void>();
  readonly #listeners = new Set<Listener>();
  readonly #hearing = new Set<(news: EndpointNews) => void>();
  readonly #lines = lineLimit(LOG_LINES_PER_SECOND);
  #healthProblem: string | null = null;
  #isLogged = false;
  #waking = new AbortController();

  constructor(deps: OperatorActionsDeps, topic: string) {
    this.#deps = deps;
    this.#topic = topic;
    const { signal } = this.#stopped;
    void this.#live();
    deps.clock.sleep(START_LIMIT_MS, signal).then(
      () => this.#known.resolve(),
      () => this.#known.resolve(),
    );
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
    return this.#healthProblem === null ? [] : [this.#healthProblem];
  }

  stop(): void {
    this.#stopped.abort();
    this.#waking.abort();
  }

  async #live(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        const end = await this.#readWhole();
        this.#healthProblem = null;
        this.#isLogged = false;
        this.#known.resolve();
        const from = { topic: this.#topic, partition: OPERATIONS_PARTITION, from: end };
        for await (const records of this.#deps.kafka.follow({
          ...from,
          maxBytes: STEP_BYTES,
          signal,
        })) {
          for (const record of records) this.#take(record);
        }
      } catch (thrown) {
        if (signal.aborted) return;
        this.#failed(asError(thrown).message);
        this.#known.resolve();
        await this.#deps.clock.sleep(TRY_AGAIN_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Returns where to go on. */
  async #readWhole(): Promise<number> {
    const { kafka } = this.#deps;
    const { signal } = this.#stopped;
    const [log] = await kafka.admin.offsets(this.#topic);
    if (log === undefined) throw new Error(`the topic ${this.#topic} has no partition`);
    const before = this.operations;
    const operations = new KnownOperatorActions();
    const place = { topic: this.#topic, partition: OPERATIONS_PARTITION, maxBytes: STEP_BYTES };
    const range = { ...place, from: log.first, to: log.end, signal };
    for await (const records of kafka.read(range)) {
      for (const record of records) this.#apply(record, operations, record.timestampMs);
    }
    signal.throwIfAborted();
    this.operations = operations;
    const named = [before, operations].flatMap((each) => [
      ...each.pauses(),
      ...each.earlyReleases(),
    ]);
    this.#tell(new Set(named.map(({ destination }) => destination)));
    return log.end;
  }

  /** News are of the moment: those of before are not told. */
  #take(record: IncomingRecord): void {
    const operation = readOperatorAction(record);
    if (operation.kind === "endpoint") {
      for (const listener of this.#hearing) listener(operation.news);
      return;
    }
    const destination = this.#apply(record, this.operations, this.#deps.clock.nowMs());
    if (destination !== null) this.#tell([destination]);
  }

  /** Of whom it says something. */
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
    if (!operations.apply(operation, atMs)) this.#refused(record, "there are too many operations");
    switch (operation.kind) {
      case "pause":
        return operation.pause.destination;
      case "release":
        return operation.earlyRelease.destination;
      case "resume":
      case "forget-release":
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
    for (const destination of destinations) {
      for (const listener of this.#listeners) listener(destination);
    }
    this.#wakeAtNextEnd();
  }

  /** Tells of the pauses that are over by then. */
  #wakeAtNextEnd(): void {
    this.#waking.abort();
    if (this.#stopped.signal.aborted) return;
    this.#waking = new AbortController();
    const { clock } = this.#deps;
    const nowMs = clock.nowMs();
    const endMs = this.operations.nextEndMs(nowMs);
    if (endMs === null) return;
    clock.sleep(Math.min(Math.max(1, endMs - nowMs), SLEEP_MAX_MS), this.#waking.signal).then(
      () => {
        const atMs = clock.nowMs();
        const over = this.operations
          .pauses()
          .filter(({ untilMs }) => untilMs !== null && untilMs > nowMs && untilMs <= atMs);
        this.#tell(over.map(({ destination }) => destination));
      },
      () => undefined,
    );
  }

  #failed(error: string): void {
    const healthProblem = `the topic ${this.#topic} cannot be read, so pauses by command since then are not known: ${error}`;
    this.#healthProblem = healthProblem;
    if (this.#isLogged || this.#deps.isUnreachable()) return;
    this.#isLogged = true;
    this.#deps.log.error({ topic: this.#topic, error }, "operator-actions.read-failed");
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
