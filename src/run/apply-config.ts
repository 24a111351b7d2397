/**
 * Takes over another configuration while the stages run.
 *
 *   step                                       a crash after it
 *   1  topics of new destinations are made     they are there for the next start
 *   2  consumers of new destinations start,    the next start takes the file: all of it, or nothing
 *      changed ones go by their settings,      if it cannot be used; records lie where they were
 *      route, deletion, ingest and audience    written
 *      take the lists: all in one turn
 *   3  consumers of removed destinations       attempts in hand are made again if the destination
 *      drain, commit and leave                 comes back
 *   4  what was counted for them is forgotten  nothing
 *
 * A destination whose topics are missing, and cannot be made, is held back; the rest is taken over
 * meanwhile. Route writes nothing for a destination before 2, so that no copy goes to a topic that
 * is not there.
 */

import type { Config } from "../config/config.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import { destinationOfTopic } from "../domain/topics.ts";
import type { Admin, TopicSpec } from "../kafka/port.ts";
import { configuredPlan, configuredTopics } from "../operate/connect/connection.ts";
import { asError } from "../runtime/as-error.ts";
import { missingTopics } from "../stage/missing-topics.ts";
import type { Rerouting } from "../stage/reroute.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import { rejectedSettings, type TopicKeeper } from "../stage/topic-keeper.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";

export interface TakeOverDeps {
  readonly admin: Pick<Admin, "topics" | "assertVisible" | "create">;
  readonly stages: readonly RunningStage[];
  readonly keeper: Pick<TopicKeeper, "update">;
  readonly rerouting: Pick<Rerouting, "forget">;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The topics that a configuration still lacks. */
export interface Lacking {
  /** By the destination that waits for them. */
  readonly waiting: ReadonlyMap<DestinationId, readonly string[]>;
  /** Why they were not made; null: that is not our task, or none is missing. */
  readonly error: Error | null;
}

/** Step 1. The topics of destinations that run already count as there. Never rejects. */
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
      log.info({ topics: missing.map(({ name }) => name) }, "topics.created");
      missing = [];
    }
    return { waiting: byDestination(missing, wanted), error: null };
  } catch (error) {
    return { waiting: byDestination(missing, wanted), error: asError(error) };
  }
}

/**
 * Step 2, at once. Do what it returns when `next` runs: steps 3 and 4.
 *
 * @param next its topics are there; it differs from `running` only in what may change while running.
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
    deliveryCa: config.delivery.ca,
    ingestTls: config.ingest.tls,
  };
}

function byDestination(missing: readonly TopicSpec[], wanted: Config): Lacking["waiting"] {
  const names = configuredTopics(wanted);
  const waiting = new Map<DestinationId, string[]>();
  for (const { name } of missing) {
    const destination = destinationOfTopic(name, names);
    if (destination === null) continue;
    waiting.set(destination, [...(waiting.get(destination) ?? []), name]);
  }
  return waiting;
}

async function retire(
  { stages, metrics, rerouting }: TakeOverDeps,
  before: Config,
  /** By then. */
  current: () => Config,
): Promise<void> {
  await Promise.all(stages.map(async (stage) => await stage.retire?.()));
  // One that is back by now counts on.
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
