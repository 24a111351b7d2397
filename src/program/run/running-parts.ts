/**
 * The parts of the program that run until it stops: the stages, and what they share. They stop in this order, within
 * 30 s: reloads, operator events and all stages concurrently, the ledger, the producer, Kafka, tracing.
 */

import { setTimeout as timer } from "node:timers/promises";
import { flushLog, type Log } from "../../base/telemetry/log.ts";
import type { ClosableTracing } from "../../base/telemetry/tracing/otlp.ts";
import type { ClusterView, Kafka, WatchedProducer } from "../../kafka/port.ts";
import type { ProcessLedger } from "../../router/ledger/process-ledger.ts";
import type { RunningStage } from "../../router/stage/running-stage.ts";
import { clusterHealthProblems } from "../../router/stage/watch-cluster.ts";
import type { RunningEvents } from "./configured-events.ts";
import type { Health } from "./health.ts";

const JOIN_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 30_000;
/** Time limit for the producer's last records after the stages have stopped. */
const PRODUCER_CLOSE_LIMIT_MS = 3_000;

export interface SharedParts {
  readonly kafka: Kafka;
  readonly producer: WatchedProducer;
  /** Null if no ledger is written. */
  readonly ledger: ProcessLedger | null;
  /** Null if tracing is disabled. */
  readonly tracing: ClosableTracing | null;
  /** No configuration is applied after its disposal. */
  readonly reloads: Disposable;
}

export class RunningParts implements AsyncDisposable {
  /** The stages that have started. Only `add` changes this list. */
  readonly stages: RunningStage[];
  readonly #shared: SharedParts;
  readonly #health: Health;
  readonly #log: Log;
  #events: RunningEvents | null = null;

  /** @param stages an empty list, which others may read while stages are added. */
  constructor(stages: RunningStage[], shared: SharedParts, health: Health, log: Log) {
    this.stages = stages;
    this.#shared = shared;
    this.#health = health;
    this.#log = log;
  }

  add(stage: RunningStage, cluster: ClusterView): void {
    this.stages.push(stage);
    const { name, healthProblems: own } = stage;
    const healthProblems = () => [...clusterHealthProblems(cluster.brokers()), ...own()];
    this.#health.add({ name, healthProblems });
    this.#log.info({ stage: name }, "stage.started");
  }

  /** Operator events describe the stages, so they are added after them. */
  addEvents(events: RunningEvents): void {
    this.#events = events;
    this.#health.add({ name: "operator-events", healthProblems: events.healthProblems });
  }

  /** Resolves when every consumer has joined its group. The program is ready 30 s later even if some have not. */
  async ready(): Promise<void> {
    const limit = new AbortController();
    const joined = Promise.all(this.stages.map((stage) => stage.joined)).then(() => true);
    const late = timer(JOIN_LIMIT_MS, false, { signal: limit.signal }).catch(() => false);
    const isComplete = await Promise.race([joined, late]);
    limit.abort();
    this.#health.become("ready");
    if (!isComplete) this.#log.warn({ afterMs: JOIN_LIMIT_MS }, "ready.partial");
    const isReady = await joined.catch(() => false);
    if (isReady) this.#log.info({ stages: this.stages.map(({ name }) => name) }, "ready");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { kafka, producer, ledger, tracing, reloads } = this.#shared;
    this.#health.become("stopping");
    reloads[Symbol.dispose]();
    await within(STOP_LIMIT_MS, async () => {
      await this.#stopStages();
      // Without the last records, an audit would take the stop for a crash.
      await ledger?.write([]);
      await producer.close(PRODUCER_CLOSE_LIMIT_MS);
      await kafka.close();
      await tracing?.close();
    });
    this.#log.info({}, "stopped");
    await flushLog();
  }

  /**
   * Concurrently, because the ingest stage continues to respond for a while, and a request to the operator webhook may
   * take as long as its time limit.
   */
  async #stopStages(): Promise<void> {
    const stops = this.stages.map(async (stage) => {
      await stage[Symbol.asyncDispose]();
      this.#log.info({ stage: stage.name }, "stage.stopped");
    });
    const ended = await Promise.allSettled([this.#events?.[Symbol.asyncDispose](), ...stops]);
    const failed = ended.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }
}

/** @throws Error if `work` has not ended after `limitMs`. */
async function within(limitMs: number, work: () => Promise<void>): Promise<void> {
  const limit = new AbortController();
  const late = timer(limitMs, undefined, { signal: limit.signal }).then(
    () => {
      throw new Error(
        `the stages have not stopped within ${limitMs / 1_000} s; records in flight are read again`,
      );
    },
    () => undefined,
  );
  try {
    await Promise.race([work(), late]);
  } finally {
    limit.abort();
  }
}
