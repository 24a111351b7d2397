/** A process with all stages of the pipeline, on a Kafka in memory. It can be stopped and killed. */

import type { Clock } from "../../src/base/runtime/clock.ts";
import type { Metrics } from "../../src/base/telemetry/instruments.ts";
import type { Log } from "../../src/base/telemetry/log.ts";
import type { OutgoingRecord } from "../../src/domain/record.ts";
import { patienceMs } from "../../src/kafka/cluster/kafka-error.ts";
import type { WatchedProducer } from "../../src/kafka/port.ts";
import { followOperatorActions } from "../../src/router/control/follow-operator-actions.ts";
import type { OperatorActions } from "../../src/router/control/operator-action-state.ts";
import { type DelayConfig, startDelay } from "../../src/router/delay/stage.ts";
import { type DeliverConfig, startDeliver } from "../../src/router/deliver/stage.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import { webhookTransport } from "../../src/router/destinations/webhook/transport.ts";
import { ProcessLedger } from "../../src/router/ledger/process-ledger.ts";
import { type RouteConfig, startRoute } from "../../src/router/route/stage.ts";
import type { RunningStage } from "../../src/router/stage/running-stage.ts";
import { FollowedSuppressions } from "../../src/router/suppression/follow-suppressions.ts";
import { listsOf } from "../support/build/lists.ts";
import type { ManualClock } from "../support/clock/manual-clock.ts";
import type { MemoryKafka } from "../support/memory-kafka/memory-kafka.ts";
import type { Party } from "../support/memory-kafka/network.ts";
import type { Endpoints } from "./endpoints.ts";

export interface ProcessConfig {
  readonly route: RouteConfig;
  readonly deliver: DeliverConfig;
  readonly delay: DelayConfig;
}

let names = 0;
function nextName(): string {
  names += 1;
  return `process-${names}`;
}

const CLOSE_LIMIT_MS = 5_000;
const SOME_BYTES = Buffer.alloc(16, 7);

interface ProcessOptions {
  readonly operatorActionsTopic?: string | null;
  /** Called before and after each write. May kill the process. */
  readonly onStep?: ((records: readonly OutgoingRecord[]) => void) | undefined;
}

interface Controlled {
  readonly operatorActions?: OperatorActions;
}

export class SimulatedProcess {
  readonly #kafka: MemoryKafka;
  readonly #stages: Promise<RunningStage[]>;
  readonly #producer: WatchedProducer;
  readonly #followed: Disposable[] = [];
  #isStopping = false;

  constructor(
    clock: ManualClock,
    kafka: MemoryKafka,
    endpoints: Endpoints,
    config: ProcessConfig,
    onFatal: (error: Error) => void,
    { operatorActionsTopic = null, onStep }: ProcessOptions = {},
  ) {
    this.#kafka = kafka;
    const producer = kafka.producer();
    this.#producer = onStep === undefined ? producer : stepping(producer, kafka, onStep);
    const deps = {
      kafka,
      producer: this.#producer,
      clock: mortalClock(clock, kafka),
      log: silentLog,
      metrics: idleMetrics,
      ledger: new ProcessLedger({
        producer: this.#producer,
        clock: mortalClock(clock, kafka),
        topic: config.route.topics.ledger,
        process: nextName(),
      }),
      onFatal,
    };
    const { route, deliver, delay } = config;
    const transport = webhookTransport(endpoints.from(kafka));
    const options = { topic: route.topics.suppressions, needsKey: true };
    const followed = new FollowedSuppressions({ ...deps, randomBytes: () => SOME_BYTES }, options);
    this.#followed.push(followed);
    const { hasKey: known, suppressions } = followed;
    const start = (controlled: Controlled = {}) => {
      const all = { ...deps, ...controlled, suppressions };
      return Promise.all([
        startRoute(all, route),
        startDeliver({ ...all, transport }, deliver),
        startDelay(all, delay),
      ]);
    };
    if (operatorActionsTopic === null) {
      this.#stages = known.then(() => start());
      return;
    }
    const operatorActions = followOperatorActions(
      { ...deps, isUnreachable: () => false, patienceMs },
      operatorActionsTopic,
    );
    this.#followed.push(operatorActions);
    this.#stages = Promise.all([known, operatorActions.known]).then(() =>
      start({ operatorActions }),
    );
  }

  /** True if the process was neither killed nor requested to stop. */
  get isRunning(): boolean {
    return this.#kafka.alive && !this.#isStopping;
  }

  /**
   * Applies other destinations, or other settings of the same destinations, to the deliver stage, as after a reload.
   */
  async update(destinations: readonly WebhookDestination[]): Promise<void> {
    for (const stage of await this.#stages) {
      if (stage.name !== "deliver" || !this.isRunning) continue;
      stage.update?.(listsOf({ destinations }));
      await stage.retire?.();
    }
  }

  /** Stops the process, as after SIGTERM. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all((await this.#stages).map((stage) => stage[Symbol.asyncDispose]()));
    for (const each of this.#followed) each[Symbol.dispose]();
    await this.#producer.close(CLOSE_LIMIT_MS);
    await this.#kafka.close();
  }

  /** Kills the process, as after SIGKILL. */
  kill(): void {
    this.#kafka.kill();
  }

  /** Lets the process's sessions in its groups expire. */
  expire(): void {
    this.#kafka.expire();
  }
}

function stepping(
  producer: WatchedProducer,
  process: Party,
  onStep: (records: readonly OutgoingRecord[]) => void,
): WatchedProducer {
  return {
    blocked: () => producer.blocked(),
    close: (limitMs) => producer.close(limitMs),
    send: async (records, options) => {
      onStep(records);
      const rejected = await producer.send(records, options);
      onStep(records);
      if (!process.alive) await new Promise(() => undefined);
      return rejected;
    },
  };
}

/** Returns a clock whose waits never end when the process is dead. */
function mortalClock(clock: ManualClock, process: Party): Clock {
  return {
    nowMs: () => clock.nowMs(),
    sleep: async (ms, signal) => {
      await clock.sleep(ms, signal);
      if (!process.alive) await new Promise(() => undefined);
    },
  };
}

const silentLog: Log = {
  isLevelEnabled: () => false,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  infoText: () => undefined,
};

/** Thousands of metric registries would take most of a simulation's time. */
const idleMetrics = new Proxy(
  {},
  {
    get: (_target, name) => {
      if (name === "onScrape") return () => () => undefined;
      const nothing = () => undefined;
      const bound = { inc: nothing, dec: nothing, set: nothing, observe: nothing };
      return { bind: () => bound, remove: nothing };
    },
  },
) as Metrics;
