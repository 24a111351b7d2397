/**
 * Builds the response to `GET /status` on the admin port: the parts that run in this process, and the state of each
 * destination in it. The response contains no secrets or payloads, and only the scheme, host and port of URLs.
 */

import type { ProcessStatus } from "../../domain/process-status.ts";
import type { PartitionPlace } from "../../domain/record.ts";
import type { StageName } from "../../domain/stages.ts";
import type { BrokerState, ClusterView } from "../../kafka/port.ts";
import type { RunningStage } from "../../router/stage/running-stage.ts";
import type { RunningConfiguration } from "./reload.ts";
import type { ReloadCauses } from "./reload-causes.ts";

export interface ProcessFacts {
  readonly version: string;
  readonly startedAtMs: number;
  readonly stages: readonly StageName[];
  /** Hash of the configuration with which the process was started. */
  readonly hash: string;
  readonly configuration: RunningConfiguration | null;
  readonly running: readonly RunningStage[];
  readonly brokers: readonly BrokerState[];
}

export function processStatus(facts: ProcessFacts): ProcessStatus {
  const { version, startedAtMs, stages, configuration, running, brokers } = facts;
  return {
    version,
    node: process.version,
    startedAt: new Date(startedAtMs).toISOString(),
    stages: stages.map((name) => {
      const stage = running.find((each) => each.name === name);
      return { name, partitions: byTopic(stage?.partitions?.() ?? []) };
    }),
    configuration: {
      hash: configuration?.hash ?? facts.hash,
      appliedAt: configuration && new Date(configuration.appliedAtMs).toISOString(),
    },
    unreachableBrokers: brokers.flatMap(({ broker, outage }) =>
      outage === null
        ? []
        : [{ broker, since: new Date(outage.sinceMs).toISOString(), error: outage.error }],
    ),
    destinations: running.flatMap((stage) => stage.destinations?.() ?? []),
  };
}

interface ProcessParts {
  readonly version: string;
  readonly stages: readonly StageName[];
  readonly hash: string;
  /** The stages that have started; a stage is added when it starts. */
  readonly running: readonly RunningStage[];
  readonly reloads: Pick<ReloadCauses, "running">;
}

/** Starts to collect the status. Call `watch` with the cluster when there is a connection. */
export function tellStatus({ reloads, ...facts }: ProcessParts) {
  const startedAtMs = Date.now();
  let cluster: ClusterView | null = null;
  return {
    watch: (view: ClusterView) => {
      cluster = view;
    },
    status: () => {
      const brokers = cluster?.brokers() ?? [];
      return processStatus({ ...facts, startedAtMs, configuration: reloads.running(), brokers });
    },
  };
}

function byTopic(owned: readonly PartitionPlace[]): Readonly<Record<string, readonly number[]>> {
  const sorted = [...Map.groupBy(owned, ({ topic }) => topic)].map(([topic, places]) => {
    const partitions = places.map(({ partition }) => partition);
    return [topic, partitions.sort((one, other) => one - other)] as const;
  });
  return Object.fromEntries(sorted);
}
