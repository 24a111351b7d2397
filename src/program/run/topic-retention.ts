/**
 * Sets gauges that show how long Kafka keeps the records that this process reads. A record that waits for longer is
 * deleted unread.
 *
 *   the topic's settings           gauge
 *   are visible                    their retention; the shortest if a consumer has several topics
 *   have no limit, for all topics  absent
 *   are not visible                as planned, because seeing them needs a separate permission
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import { readerOf, type StageName } from "../../domain/stages.ts";
import { destinationOfTopic, type TopicNames } from "../../domain/topics.ts";
import type { Admin, TopicState } from "../../kafka/port.ts";
import type { PlannedTopic } from "../../router/topics/topic-plan.ts";

const LOOK_EVERY_MS = 600_000;
const KEY = "retention.ms";

export interface Inputs {
  readonly plan: readonly PlannedTopic[];
  readonly topics: TopicNames;
}

export interface Retention {
  readonly stage: StageName;
  readonly destination: string;
  /** Infinity if the topic keeps its records forever. */
  readonly retentionMs: number;
}

/** Returns the retention of the topics that each consumer of the stages reads. */
export function retentions(
  { plan, topics }: Inputs,
  stages: readonly StageName[],
  described: readonly TopicState[],
): readonly Retention[] {
  const reported = new Map(described.map(({ name, config }) => [name, config[KEY]]));
  const shortest = new Map<string, Retention>();
  for (const { kind, name, config } of plan) {
    const stage = readerOf(kind)?.stage;
    const ms = Number(reported.get(name) ?? config[KEY]);
    if (stage === undefined || !stages.includes(stage) || Number.isNaN(ms)) continue;
    const destination = destinationOfTopic(name, topics) ?? "";
    const retentionMs = ms < 0 ? Number.POSITIVE_INFINITY : ms;
    const key = `${stage} ${destination}`;
    const other = shortest.get(key)?.retentionMs ?? Number.POSITIVE_INFINITY;
    shortest.set(key, { stage, destination, retentionMs: Math.min(retentionMs, other) });
  }
  return [...shortest.values()];
}

/**
 * Sets the gauges periodically until disposed.
 *
 * @param inputs the current inputs.
 */
export function watchRetention(
  { metrics, admin, clock }: { metrics: Metrics; admin: Pick<Admin, "describe">; clock: Clock },
  stages: readonly StageName[],
  inputs: () => Inputs,
): Disposable {
  const end = new AbortController();
  const look = async () => {
    const now = inputs();
    const read = now.plan.filter(({ kind }) => {
      const stage = readerOf(kind)?.stage;
      return stage !== undefined && stages.includes(stage);
    });
    const names = read.map(({ name }) => name);
    const described = await admin.describe(names, [KEY]).catch(() => []);
    if (end.signal.aborted) return;
    for (const { stage, destination, retentionMs } of retentions(now, stages, described)) {
      const seconds = Number.isFinite(retentionMs) ? retentionMs / 1_000 : Number.NaN;
      metrics.topicRetention.bind({ stage, destination }).set(seconds);
    }
  };
  const lookOn = async () => {
    while (!end.signal.aborted) {
      await look();
      await clock.sleep(LOOK_EVERY_MS, end.signal).catch(() => undefined);
    }
  };
  void lookOn();
  return { [Symbol.dispose]: () => end.abort() };
}
