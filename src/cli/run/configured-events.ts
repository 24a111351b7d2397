/**
 * Events for people, where the configuration asks for them and the process delivers. Of a destination
 * the process speaks that owns partition 0 of its topic.
 */

import type { Config } from "../../config/config.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { ClusterView, Kafka, Producer } from "../../kafka/port.ts";
import { watchForPeople } from "../../operator-events/watch.ts";
import { systemClock } from "../../runtime/clock.ts";
import type { RunningStage } from "../../stage/running-stage.ts";
import type { Metrics } from "../../telemetry/instruments.ts";
import type { Log } from "../../telemetry/log.ts";
import { configuredTopics } from "../connection.ts";
import type { ReloadCauses } from "./reload-causes.ts";

export interface EventParts {
  readonly kafka: Kafka;
  readonly producer: Producer;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cluster: ClusterView;
  readonly reloads: Pick<ReloadCauses, "refused">;
  readonly stages: readonly RunningStage[];
}

/** The caller disposes it before the producer is closed. */
export function configuredEvents(
  config: Config,
  { cluster, reloads, stages, ...deps }: EventParts,
): Disposable {
  const deliver = stages.find(({ name }) => name === "deliver");
  if (!config.operatorEvents.enabled || deliver === undefined) {
    return { [Symbol.dispose]: () => undefined };
  }
  const topics = configuredTopics(config);
  return watchForPeople(
    { ...deps, clock: systemClock },
    {
      topic: topics.operatorEvents,
      source: `/switchyard/${topics.prefix}`,
      destinations: () => spokenFor(deliver, topics),
      refused: () => reloads.refused(),
      brokers: () => cluster.brokers(),
    },
  );
}

/** Those whose first partition is here. */
export function spokenFor(
  deliver: Pick<RunningStage, "partitions" | "destinations">,
  topics: Pick<TopicNames, "deliveries">,
): readonly DestinationStatus[] {
  const owned = deliver.partitions?.() ?? [];
  const first = new Set(owned.filter(({ partition }) => partition === 0).map(({ topic }) => topic));
  const all = deliver.destinations?.() ?? [];
  return all.filter(({ id }) => first.has(topics.deliveries(id)));
}
