/**
 * `switchyard run`: starts the stages, keeps them running, and stops them concurrently.
 *
 *   step                                fails                            exit
 *   1  admin port listens               port in use                      1
 *   2  a broker responds                no response within               1
 *                                       kafka.startTimeout, or a
 *                                       permanent error
 *   3  topics exist, and operator       a permission or a setting is     1
 *      actions are known                wrong; brokers are not ready
 *                                       within kafka.startTimeout
 *   4  stages start; consumers join     suppressions are unknown: those  -
 *                                       that match users wait without a
 *                                       limit (`configured-suppressions.ts`)
 *                                       consumers: ready after 30 s anyway
 *   5  runs; changed configurations     a shared stage crashes           1
 *      are applied (`reload.ts`)
 *   6  SIGTERM: stops within 30 s       something hangs                  1
 *                                       nothing                          0
 */

import { randomUUID } from "node:crypto";
import { BrokerClock } from "../../base/runtime/broker-clock.ts";
import { type Clock, systemClock } from "../../base/runtime/clock.ts";
import { ALL_ADDRESSES, hostAndPort } from "../../base/runtime/listening.ts";
import { createMetrics, type Metrics } from "../../base/telemetry/instruments.ts";
import { createLog, type Log, logProblems } from "../../base/telemetry/log.ts";
import type { Tracing } from "../../base/telemetry/tracing/port.ts";
import { watchProcess } from "../../base/telemetry/watch-process.ts";
import type { Config } from "../../config/config.ts";
import type { Loaded } from "../../config/load.ts";
import type { StageName } from "../../domain/stages.ts";
import { type BrokerWait, waitForBrokers } from "../../kafka/cluster/wait-for-brokers.ts";
import { createKafka } from "../../kafka/kafka.ts";
import type { ClusterView, Kafka, WatchedProducer } from "../../kafka/port.ts";
import { configuredSchemas } from "../../operator/connect/configured-schemas.ts";
import {
  configuredPlan,
  configuredTopics,
  kafkaConnection,
} from "../../operator/connect/connection.ts";
import { programVersion } from "../../operator/connect/program-version.ts";
import type { Schemas } from "../../registry/port.ts";
import type { RunningOperatorActions } from "../../router/control/follow-operator-actions.ts";
import { type LedgerOptions, ProcessLedger } from "../../router/ledger/process-ledger.ts";
import { createRerouting, type Rerouting } from "../../router/stage/reroute.ts";
import type { RunningStage } from "../../router/stage/running-stage.ts";
import { type TopicKeeper, topicKeeper } from "../../router/stage/topic-keeper.ts";
import { produceSignals, watchCluster } from "../../router/stage/watch-cluster.ts";
import type { FollowedSuppressions } from "../../router/suppression/follow-suppressions.ts";
import { startAdmin } from "./admin-server.ts";
import { makeTopics, takeOver } from "./apply-config.ts";
import { configuredEvents } from "./configured-events.ts";
import { announceProcess, configuredOperatorActions } from "./configured-operator-actions.ts";
import { configuredSuppressions, startGroups } from "./configured-suppressions.ts";
import { configuredTracing } from "./configured-tracing.ts";
import { createHealth, type Health } from "./health.ts";
import { tellStatus } from "./process-status.ts";
import { type Configuration, type ReloadCauses, reloadCauses } from "./reload-causes.ts";
import { RunningParts } from "./running-parts.ts";
import { type SharedServices, startStages } from "./start-stages.ts";
import { watchRetention } from "./topic-retention.ts";
import { ensureTopics } from "./topics-ready.ts";
import { StartInterruptedError, type Waits, waitOut } from "./wait-for-cluster.ts";

/** In either case of letters. */
const PROXY_VARIABLE = /^(?:https?|all)_proxy$/i;

/**
 * Runs until the signal aborts or a shared stage fails. Returns the exit status.
 *
 * @param load reads the configuration again. Never throws.
 * @throws Error with a sentence that explains what to do, if the process cannot start.
 */
export async function run(...given: Parameters<typeof runStages>): Promise<0 | 1> {
  try {
    return await runStages(...given);
  } catch (error) {
    // If the parts cannot be stopped after an error, the second error is the one to report.
    const last = error instanceof SuppressedError ? error.error : error;
    if (last instanceof StartInterruptedError) return 0;
    throw last;
  }
}

async function runStages(
  configuration: Configuration,
  load: () => Loaded,
  stages: readonly StageName[],
  signal: AbortSignal,
  log: Log = createLog(configuration.config.log.level),
  file: string | null = null,
): Promise<0 | 1> {
  const { config } = configuration;
  const waiting = waitingFor(config, log, signal);
  const metrics = createMetrics(config.metrics.destinations);
  const build = announceStart(metrics, log, stages, file);
  const health = createHealth([{ name: "log", healthProblems: logProblems }]);
  using _process = watchProcess(metrics);
  using reloads = reloadCauses(configuration);
  const reload = config.admin.reload ? reloads.request : null;
  const running: RunningStage[] = [];
  const reported = tellStatus({ ...build, stages, running, reloads, hash: configuration.hash });
  await using admin = await startAdmin(config.admin, { health, metrics, reload, ...reported });
  log.info({ host: admin.host, port: admin.port }, "admin.listening");

  const clock = new BrokerClock(systemClock, () => performance.now());
  /** The current configuration. New connections use its certificates and passwords. */
  let current = config;
  const connection = kafkaConnection(config, () => current);
  if (!(await waitForBrokers(connection, waiting))) return 0;
  const kafka = createKafka(connection, log, clock);
  const keeper = configuredKeeper(config, { admin: kafka.admin, clock, log });
  const cluster = kafka.watch();
  reported.watch(cluster);
  using _cluster = watchKafka({ metrics, kafka, clock }, cluster, stages, () => current);
  const producer = measuringProducer(kafka, { keeper, clock, metrics });
  const rerouting = configuredRerouting(config, { producer, metrics, keeper, clock });
  health.add({ name: "topics", healthProblems: rerouting.healthProblems });
  await using schemas = await configuredSchemas(config, { log, metrics }, () => current);
  if (schemas !== null) health.add({ name: "registry", healthProblems: schemas.healthProblems });
  health.add({ name: "configuration", healthProblems: reloads.healthProblems });
  const tracing = await configuredTracing(config, { log, metrics });
  const ledger = configuredLedger(config, { producer, clock, health });
  const closing = { kafka, producer, ledger, tracing, reloads };
  await using parts = new RunningParts(running, closing, health, log);

  const patiently = waitOut(waiting);
  if (!(await patiently(() => ensureTopics(config, kafka.admin, log, signal)))) return 0;
  const shared = { kafka, producer, clock, log, metrics, rerouting, keeper };
  using announcing = await announceProcess(() => current, { ...shared, health }, stages);
  const controlled = { ...shared, cluster, health, signal };
  using actions = await configuredOperatorActions(config, controlled, stages);
  if (actions !== null) announcing.compare(actions);
  using suppressions = configuredSuppressions(config, { ...shared, health }, stages);
  const fatal = Promise.withResolvers<Error>();
  const deps = {
    ...shared,
    onFatal: fatal.resolve,
    ...present({ schemas, tracing, actions, suppressions, ledger }),
  };
  const itself = ownProcess(() => current, { reloads, configuration, load, admin });
  const over = Promise.race([stopRequested(signal), fatal.promise]);
  for (const [group, known] of startGroups(stages, suppressions)) {
    const cause = await Promise.race([known, over]);
    if (cause !== undefined) return exitOf(cause, log);
    for await (const stage of startStages(group, deps, config, { own: itself, patiently })) {
      parts.add(stage, cluster);
    }
  }
  parts.addEvents(configuredEvents(itself, { ...deps, cluster, reloads, stages: running }));

  const applying = { ...deps, admin: kafka.admin, stages: running };
  reloads.begin({
    load,
    clock,
    metrics,
    log,
    makeTopics: (from, to) => makeTopics(applying, from, to),
    takeOver: (from, to) => {
      current = to;
      announcing.changed();
      return takeOver(applying, from, to);
    },
  });
  await Promise.race([parts.ready(), over]);
  return exitOf(await over, log);
}

/** Sets the metrics, and logs the stages that run. */
function announceStart(
  metrics: Metrics,
  log: Log,
  stages: readonly StageName[],
  file: string | null,
) {
  const build = { version: programVersion(), node: process.version };
  metrics.buildInfo.bind(build).set(1);
  log.info({ ...build, ...(file === null ? {} : { file }), stages }, "starting");
  // The values are not logged, because they may contain passwords.
  const variables = Object.keys(process.env).filter(
    (name) => PROXY_VARIABLE.test(name) && process.env[name],
  );
  if (variables.length > 0) log.warn({ variables }, "proxy.not-used");
  return build;
}

/** Describes the process that serves the console, in the form that the console shows. */
function ownProcess(
  config: () => Config,
  { reloads, configuration, load, admin }: OwnParts,
): SharedServices {
  const hash = () => reloads.running()?.hash ?? configuration.hash;
  return {
    current: () => ({ config: config(), hash: hash() }),
    load,
    admin: askedAt(admin),
  };
}

interface OwnParts {
  readonly reloads: Pick<ReloadCauses, "running">;
  readonly configuration: Configuration;
  readonly load: () => Loaded;
  readonly admin: { readonly host: string; readonly port: number };
}

/** Returns the address at which the process requests its own status. A wildcard address is replaced. */
function askedAt({ host, port }: { readonly host: string; readonly port: number }): string {
  return hostAndPort(host === "0.0.0.0" || host === ALL_ADDRESSES ? "127.0.0.1" : host, port);
}

function configuredKeeper(
  config: Config,
  deps: Parameters<typeof topicKeeper>[0],
): ReturnType<typeof topicKeeper> {
  return topicKeeper(deps, config.kafka.createTopics ? configuredPlan(config) : []);
}

function measuringProducer(
  kafka: Kafka,
  { keeper, clock, metrics }: { keeper: TopicKeeper; clock: BrokerClock; metrics: Metrics },
): WatchedProducer {
  return kafka.producer({
    onMissing: keeper.missing,
    onAppended: (time) => clock.measure(time),
    ...produceSignals(metrics),
  });
}

function watchKafka(
  { metrics, kafka, clock }: { metrics: Metrics; kafka: Kafka; clock: Clock },
  cluster: ClusterView,
  stages: readonly StageName[],
  current: () => Config,
): Disposable {
  const watching = new DisposableStack();
  watching.use(watchCluster(metrics, cluster, clock));
  watching.use(
    watchRetention({ metrics, admin: kafka.admin, clock }, stages, () => ({
      plan: configuredPlan(current()),
      topics: configuredTopics(current()),
    })),
  );
  return watching;
}

/** The brokers have to respond and be ready within `kafka.startTimeout`. */
function waitingFor({ kafka }: Config, log: Log, signal: AbortSignal): BrokerWait & Waits {
  const onCause = (cause: string) => log.warn({ cause }, "kafka.waiting");
  const limitMs = kafka.startTimeoutMs;
  return { limitMs, untilMs: performance.now() + limitMs, log, signal, onCause };
}

function exitOf(cause: string | Error, log: Log): 0 | 1 {
  if (cause instanceof Error) {
    log.error({ err: cause }, "stage.failed");
    return 1;
  }
  log.info({ signal: cause }, "stopping");
  return 0;
}

function stopRequested(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(String(signal.reason));
    else signal.addEventListener("abort", () => resolve(String(signal.reason)), { once: true });
  });
}

function configuredRerouting(
  config: Config,
  {
    producer,
    metrics,
    keeper,
    clock,
  }: Parameters<typeof createRerouting>[0] & { keeper: TopicKeeper },
): Rerouting {
  const { retryDelaysMs } = config.delivery;
  const rules = { topics: configuredTopics(config), retryDelaysMs, isMade: keeper.isMade };
  return createRerouting({ producer, metrics, clock }, rules);
}

/** Null if no ledger is written. */
function configuredLedger(
  config: Config,
  {
    producer,
    clock,
    health,
  }: Pick<LedgerOptions, "producer" | "clock"> & { readonly health: Health },
): ProcessLedger | null {
  if (!config.audit.enabled) return null;
  const { ledger: topic } = configuredTopics(config);
  const ledger = new ProcessLedger({ producer, clock, topic, process: randomUUID() });
  health.add({ name: "ledger", healthProblems: () => ledger.healthProblems() });
  return ledger;
}

/** Returns the parts that are not null. */
function present({
  schemas,
  tracing,
  actions,
  suppressions,
  ledger,
}: {
  schemas: Schemas | null;
  tracing: Tracing | null;
  actions: RunningOperatorActions | null;
  suppressions: FollowedSuppressions | null;
  ledger: ProcessLedger | null;
}) {
  return {
    ...(schemas === null ? {} : { schemas }),
    ...(tracing === null ? {} : { tracing }),
    ...(actions === null ? {} : { operatorActions: actions }),
    ...(suppressions === null ? {} : { suppressions: suppressions.suppressions }),
    ...(ledger === null ? {} : { ledger }),
  };
}
