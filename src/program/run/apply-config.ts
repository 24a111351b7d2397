/**
 * Applies another configuration while the stages run.
 *
 *   step                                       if the process crashes after it
 *   1  topics of new destinations are created  they exist at the next start
 *   2  consumers of new destinations start,    the next start uses the complete file, or no part of it if
 *      changed ones use their new settings,    it is invalid; records stay where they were written
 *      and route, deletion, ingest and
 *      audience use the new lists, all at once
 *   3  consumers of removed destinations       attempts in flight are repeated if the destination is
 *      drain, commit and leave                 configured again
 *   4  counts of removed destinations are      nothing
 *      removed
 *
 * A destination whose topics are missing and cannot be created stays pending; all other changes are applied. The route
 * stage writes nothing for a destination before step 2, so no delivery is written to a topic that does not exist.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { firstNames } from "../../base/words/count.ts";
import type { Config } from "../../config/config.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { LiveSettings } from "../../domain/live-settings.ts";
import { ownerOfTopic } from "../../domain/topics.ts";
import type { Admin, TopicSpec } from "../../kafka/port.ts";
import { configuredPlan, configuredTopics } from "../../operator/connect/connection.ts";
import type { Rerouting } from "../../router/stage/reroute.ts";
import type { RunningStage } from "../../router/stage/running-stage.ts";
import {
  missingTopics,
  rejectedSettings,
  type TopicKeeper,
} from "../../router/stage/topic-keeper.ts";

export interface TakeOverDeps {
  readonly admin: Pick<Admin, "topics" | "assertVisible" | "create">;
  readonly stages: readonly RunningStage[];
  readonly keeper: Pick<TopicKeeper, "update">;
  readonly rerouting: Pick<Rerouting, "forget">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The topics of a configuration that do not exist yet. */
export interface Lacking {
  /** The topics by the destination that waits for them. */
  readonly waiting: ReadonlyMap<DestinationId, readonly string[]>;
  /** Why creating the topics failed; null if Switchyard does not create topics, or if no topic is missing. */
  readonly error: Error | null;
}

/** Step 1. Topics of destinations that already run count as existing. Never rejects. */
export async function makeTopics(
  { admin, log }: Pick<TakeOverDeps, "admin" | "log">,
  running: Config,
  wanted: Config,
): Promise<Lacking> {
  const before = new Set(configuredPlan(running).map(({ name }) => name));
  const added = configuredPlan(wanted).filter(({ name }) => !before.has(name));
  if (added.length === 0) return { waiting: new Map(), error: null };
  let missing: readonly TopicSpec[] = added;
  try {
    const names = added.map(({ name }) => name);
    const lacking = new Set(await missingTopics(admin, names));
    missing = added.filter(({ name }) => lacking.has(name));
    if (wanted.kafka.createTopics && missing.length > 0) {
      await admin.create(missing, rejectedSettings(log));
      log.info({ topics: firstNames(missing.map(({ name }) => name)) }, "topics.created");
      missing = [];
    }
    return { waiting: byDestination(missing, wanted), error: null };
  } catch (error) {
    return { waiting: byDestination(missing, wanted), error: asError(error) };
  }
}

/**
 * Step 2, synchronously. The returned function does steps 3 and 4; call it when `next` runs.
 *
 * @param next a configuration whose topics exist, and that differs from `running` only in settings that may change at
 * run time.
 */
export function takeOver(
  deps: TakeOverDeps,
  running: Config,
  next: Config,
): (current: () => Config) => Promise<void> {
  deps.keeper.update(next.kafka.createTopics ? configuredPlan(next) : []);
  const settings = liveSettings(next);
  for (const stage of deps.stages) stage.update?.(settings);
  return (current) => retire(deps, running, current);
}

function liveSettings(config: Config): LiveSettings {
  const { sources, defaultSource, destinations, audiences, audienceDefaults } = config;
  return {
    sources,
    defaultSource,
    destinations,
    audiences,
    audienceDefaults,
    delivery: config.delivery,
    ingestTls: config.ingest.tls,
  };
}

function byDestination(missing: readonly TopicSpec[], wanted: Config): Lacking["waiting"] {
  const names = configuredTopics(wanted);
  const waiting = new Map<DestinationId, string[]>();
  for (const { name } of missing) {
    const destination = ownerOfTopic(name, names);
    if (destination === null) continue;
    waiting.set(destination, [...(waiting.get(destination) ?? []), name]);
  }
  return waiting;
}

async function retire(
  { stages, metrics, rerouting }: TakeOverDeps,
  before: Config,
  /** The configuration that is current when this is called. */
  current: () => Config,
): Promise<void> {
  await Promise.all(stages.map(async (stage) => await stage.retire?.()));
  // If the destination has been configured again meanwhile, its counts are kept.
  const destinations = gone(before.destinations, current().destinations);
  rerouting.forget(destinations);
  metrics.forget("destination", destinations);
  metrics.forget("source", gone(before.sources, current().sources));
}

interface Named {
  readonly id: string;
}

function gone(before: readonly Named[], after: readonly Named[]): ReadonlySet<string> {
  const there = new Set(after.map(({ id }) => id));
  return new Set(before.map(({ id }) => id).filter((id) => !there.has(id)));
}
