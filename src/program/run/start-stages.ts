/**
 * Starts the chosen stages, beginning with the last one in the flow of data, so that the next stage is usually running
 * when a stage produces output. All stages are stopped concurrently, because the ingest stage continues to respond for
 * a while, and records for a stopped stage wait in their topic.
 */

import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import type { Loaded } from "../../config/load.ts";
import { isAttempted } from "../../domain/destination.ts";
import { STAGE_NAMES, type StageName } from "../../domain/stages.ts";
import { type GroupNames, groupNames, type TopicNames } from "../../domain/topics.ts";
import { configuredTopics, knownDelays } from "../../operator/connect/connection.ts";
import type { ConsoleReaderOptions } from "../../operator/console/read/console-reader.ts";
import { openTransport } from "../../router/destinations/index.ts";
import type { RunningStage, StageDeps } from "../../router/stage/running-stage.ts";
import type { WaitOut } from "./wait-for-cluster.ts";

/** This is less than the brokers' rebalance timeout, and enough for an attempt of 5 s and for scheduling its retry. */
const DRAIN_LIMIT_MS = 10_000;
const DELAY_MAX_BYTES = 4 * 1_024 * 1_024;
const DELETION_MAX_BYTES = 4 * 1_024 * 1_024;
const AUDIENCE_MAX_BYTES = 8 * 1_024 * 1_024;
/** Bytes in flight over all destinations: each destination has an equal share and can borrow unused bytes. */
const DELIVER_MAX_BYTES = 32 * 1_024 * 1_024;
const DELIVER_SHARE_MIN_BYTES = 16 * 1_024;
const DELIVER_SHARE_MAX_BYTES = 4 * 1_024 * 1_024;

/** Everything that is needed to start a stage. */
interface World {
  readonly deps: StageDeps;
  readonly config: Config;
  readonly common: {
    readonly topics: TopicNames;
    readonly groups: GroupNames;
    readonly drainLimitMs: number;
  };
  readonly own: SharedServices | null;
  readonly patiently: WaitOut;
}

/** The parts of this process that all stages share. The console queries this process like any other. */
export interface SharedServices {
  readonly current: () => { readonly config: Config; readonly hash: string };
  readonly load: () => Loaded;
  /** The process's own admin port. */
  readonly admin: string;
}

/**
 * The code of a stage is loaded when the stage starts, so that a stage that does not run takes neither memory nor time.
 */
export const STAGE_CODE = {
  ingest: () => import("../../router/ingest/stage.ts"),
  route: () => import("../../router/route/stage.ts"),
  audience: async () => ({
    ...(await import("../../router/audience/stage.ts")),
    ...(await import("../../router/audience/store/owned-store.ts")),
  }),
  deletion: () => import("../../router/deletion/stage.ts"),
  deliver: async () => ({
    ...(await import("../../router/deliver/stage.ts")),
    ...(await import("../../router/deliver/attempts-topic.ts")),
  }),
  delay: async () => ({
    ...(await import("../../router/delay/stage.ts")),
    ...(await import("../../router/delay/gauges.ts")),
  }),
  console: () => import("../../operator/console/read/start-console.ts"),
} satisfies Readonly<Record<StageName, () => Promise<object>>>;

/** If a stage of `domain/stages.ts` is missing here, this does not compile. */
const STARTS: Readonly<Record<StageName, (world: World) => Promise<RunningStage>>> = {
  ingest: async ({ deps, config, common }) => {
    const { startIngest } = await STAGE_CODE.ingest();
    const { sources, ingest } = config;
    const { topics, drainLimitMs } = common;
    const parentBased = config.tracing?.parentBased ?? false;
    const own = { ...ingest, sources, parentBased, topic: topics.calls };
    return startIngest(deps, { ...own, drainLimitMs });
  },
  route: async ({ deps, config, common }) => {
    const { startRoute } = await STAGE_CODE.route();
    const { sources, defaultSource, destinations } = config;
    const own = { sources, defaultSource, destinations };
    const onCorruptBatch = config.kafka.onCorruptBatch.calls;
    return startRoute(deps, { ...common, ...own, onCorruptBatch });
  },
  audience: async ({ deps, config, common }) => {
    const { startAudience, levelStores } = await STAGE_CODE.audience();
    const { audiences, audienceDefaults, audience, defaultSource } = config;
    // Two clusters or prefixes may share a directory.
    const stores = levelStores(join(audience.stateDir, common.topics.audienceMembers));
    const own = { audiences, audienceDefaults, defaultSource, maxBytes: AUDIENCE_MAX_BYTES };
    const onCorruptBatch = config.kafka.onCorruptBatch.audienceSyncs;
    return startAudience({ ...deps, stores }, { ...common, ...own, onCorruptBatch });
  },
  deletion: async ({ deps, config, common }) => {
    const { startDeletion } = await STAGE_CODE.deletion();
    const { sources, destinations } = config;
    const own = { sources, destinations, maxBytes: DELETION_MAX_BYTES };
    const onCorruptBatch = config.kafka.onCorruptBatch.deletionRequests;
    return startDeletion(deps, { ...common, ...own, onCorruptBatch });
  },
  deliver: async ({ deps, config, common }) => {
    const { startDeliver, startAttemptsTopic } = await STAGE_CODE.deliver();
    const { retryWindowMs, retryDelaysMs } = config.delivery;
    const destinations = config.destinations.filter(isAttempted);
    const maxBytes = share;
    const transport = await openTransport(config.delivery);
    const own = {
      destinations,
      retryDelaysMs,
      retryWindowMs,
      maxBytes,
      commonMaxBytes: DELIVER_MAX_BYTES,
    };
    const logged = { attemptsShare: config.log.attempts };
    const { enabled, responseBytes } = config.attempts;
    const topic = common.topics.attempts;
    const attempts = enabled
      ? { attempts: startAttemptsTopic(deps, { topic, responseBytes }) }
      : {};
    return startDeliver({ ...deps, transport, ...attempts }, { ...common, ...own, ...logged });
  },
  delay: async ({ deps, config, common, patiently }) => {
    const { startDelay, WAITING_SHOWN_MAX } = await STAGE_CODE.delay();
    // Records may wait in the topics of removed delays.
    const existing = await patiently(() => deps.kafka.admin.topics());
    const delays = knownDelays(config, existing);
    const destinations = config.destinations.map(({ id }) => id);
    const isFull = config.metrics.destinations === "full";
    const shownMax = isFull ? Number.POSITIVE_INFINITY : WAITING_SHOWN_MAX;
    const { retryWindowMs } = config.delivery;
    const own = { delays, destinations, shownMax, retryWindowMs, maxBytes: DELAY_MAX_BYTES };
    return startDelay(deps, { ...common, ...own });
  },
  console: async ({ deps, config, own }) => {
    if (own === null)
      throw new Error("the console can only be started as part of a running process");
    const { startConfiguredConsole } = await STAGE_CODE.console();
    const admins = [...new Set([own.admin, ...config.console.adminAddresses])];
    const useKafka: ConsoleReaderOptions["useKafka"] = (work) => work(deps.kafka);
    return startConfiguredConsole({ ...own, admins, useKafka }, deps);
  },
};

interface StageSettings {
  readonly own: SharedServices;
  /** Repeats requests that brokers cannot serve yet. */
  readonly patiently: WaitOut;
}

/**
 * Yields each stage when it has started. The caller disposes the stages, even if a later one throws.
 */
export async function* startStages(
  chosen: readonly StageName[],
  deps: StageDeps,
  config: Config,
  around: StageSettings | null = null,
): AsyncGenerator<RunningStage> {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const world = {
    deps,
    config,
    common: { topics, groups, drainLimitMs: DRAIN_LIMIT_MS },
    own: around?.own ?? null,
    patiently: around?.patiently ?? ((work) => work()),
  };
  for (const name of STAGE_NAMES.toReversed()) {
    if (chosen.includes(name)) yield await STARTS[name](world);
  }
}

function share(destinations: number): number {
  const even = Math.floor(DELIVER_MAX_BYTES / Math.max(1, destinations));
  return Math.min(DELIVER_SHARE_MAX_BYTES, Math.max(DELIVER_SHARE_MIN_BYTES, even));
}
