/**
 * Starts the chosen stages, in the order in which data would back up if a later one were missing:
 * deliver, delay, deletion, audience, route, ingest. They are stopped side by side: ingest answers on
 * for a while, and what a stage has written for one that is gone waits in its topic.
 */

import { join } from "node:path";

import { startAudience } from "../audience/stage.ts";
import type { Config } from "../config/config.ts";
import { startDelay } from "../delay/stage.ts";
import { startDeletion } from "../deletion/stage.ts";
import { createHttp } from "../deliver/http.ts";
import { startDeliver } from "../deliver/stage.ts";
import type { StageName } from "../domain/dead-letter.ts";
import type { WebhookDestination } from "../domain/destination.ts";
import { groupNames, tierDelayMs, tierName } from "../domain/topics.ts";
import { startIngest } from "../ingest/stage.ts";
import type { Kafka } from "../kafka/port.ts";
import type { StageDeps } from "../kafka/stage-deps.ts";
import { startRoute } from "../route/stage.ts";
import { systemClock } from "../runtime/clock.ts";
import type { RunningStage } from "../runtime/stage.ts";
import { levelStores } from "../store/owned-store.ts";
import { configuredTopics } from "./connection.ts";

export const RUNNABLE_STAGES = [
  "ingest",
  "route",
  "deliver",
  "delay",
  "deletion",
  "audience",
] as const satisfies readonly StageName[];
export type RunnableStage = (typeof RUNNABLE_STAGES)[number];

/** Below the brokers' rebalance time limit, and enough for an attempt of 5 s and its parking. */
const DRAIN_LIMIT_MS = 10_000;
const ROUTE_BYTES_MAX = 8 * 1_024 * 1_024;
const DELAY_BYTES_MAX = 4 * 1_024 * 1_024;
const DELETION_BYTES_MAX = 4 * 1_024 * 1_024;
const AUDIENCE_BYTES_MAX = 8 * 1_024 * 1_024;
/** In hand over all destinations: each has an even share, and borrows of what is free. */
const DELIVER_BYTES_MAX = 32 * 1_024 * 1_024;
const DELIVER_SHARE_BYTES_MIN = 16 * 1_024;
const DELIVER_SHARE_BYTES_MAX = 4 * 1_024 * 1_024;

/** Yields each stage when it has started. The caller disposes them, also when a later one throws. */
export async function* startStages(
  chosen: readonly RunnableStage[],
  deps: Omit<StageDeps, "clock">,
  config: Config,
): AsyncGenerator<RunningStage> {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const common = { topics, groups, drainLimitMs: DRAIN_LIMIT_MS };
  const shared = { ...deps, clock: systemClock };
  if (chosen.includes("deliver")) {
    const { timeoutMs, windowMs, delaysMs, allowNetworks, ca } = config.delivery;
    const destinations = config.destinations.filter(isWebhook);
    const bytesMax = share(destinations.length);
    const http = createHttp({ timeoutMs, allowNetworks, ca });
    yield await startDeliver(
      { ...shared, http },
      {
        ...common,
        destinations,
        delaysMs,
        windowMs,
        bytesMax,
        bytesCommonMax: DELIVER_BYTES_MAX,
      },
    );
  }
  if (chosen.includes("delay")) {
    const destinations = config.destinations.filter(isWebhook).map(({ id }) => id);
    const tiers = await tiersToDrain(config, deps.kafka);
    yield await startDelay(shared, { ...common, tiers, destinations, bytesMax: DELAY_BYTES_MAX });
  }
  if (chosen.includes("deletion")) {
    const { sources, destinations } = config;
    const own = { sources, destinations, bytesMax: DELETION_BYTES_MAX };
    yield await startDeletion(shared, { ...common, ...own });
  }
  if (chosen.includes("audience")) {
    const { audiences, audienceDefaults, audience, defaultSource } = config;
    // Two clusters or prefixes may share a directory.
    const stores = levelStores(join(audience.stateDir, topics.audienceMembers));
    const bytesMax = AUDIENCE_BYTES_MAX;
    yield await startAudience(
      { ...shared, stores },
      { ...common, audiences, audienceDefaults, defaultSource, bytesMax },
    );
  }
  if (chosen.includes("route")) {
    const { sources, defaultSource, destinations } = config;
    yield await startRoute(shared, {
      ...common,
      sources,
      defaultSource,
      destinations,
      bytesMax: ROUTE_BYTES_MAX,
    });
  }
  // The last one: what it takes in should find the others at work.
  if (chosen.includes("ingest")) {
    const { sources, ingest } = config;
    yield await startIngest(shared, {
      ...ingest,
      sources,
      topic: topics.calls,
      drainLimitMs: DRAIN_LIMIT_MS,
    });
  }
}

function isWebhook(destination: Config["destinations"][number]): destination is WebhookDestination {
  return destination.kind === "webhook";
}

function share(destinations: number): number {
  const even = Math.floor(DELIVER_BYTES_MAX / Math.max(1, destinations));
  return Math.min(DELIVER_SHARE_BYTES_MAX, Math.max(DELIVER_SHARE_BYTES_MIN, even));
}

/** The configured tiers, and those no longer configured whose topics exist: records may wait there. */
async function tiersToDrain(config: Config, kafka: Kafka): Promise<readonly string[]> {
  const start = `${configuredTopics(config).prefix}delays.`;
  const existing = (await kafka.admin.topics())
    .filter((name) => name.startsWith(start))
    .map((name) => name.slice(start.length))
    .filter((tier) => tierDelayMs(tier) !== null);
  return [...new Set([...config.delivery.delaysMs.map(tierName), ...existing])];
}
