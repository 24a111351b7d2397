/**
 * Announces this process on the topic `operator-actions`, and follows that topic while the program runs, if any of the
 * stages carries out operator actions. The caller stops both before Kafka is closed.
 */

import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Config } from "../../config/config.ts";
import type { StageName } from "../../domain/stages.ts";
import { patienceMs } from "../../kafka/cluster/kafka-error.ts";
import type { ClusterView, Kafka } from "../../kafka/port.ts";
import { configuredTopics } from "../../operator/connect/connection.ts";
import {
  followOperatorActions,
  type RunningOperatorActions,
} from "../../router/control/follow-operator-actions.ts";
import { candidates } from "../../router/route/route.ts";
import { type AnnounceDeps, type Announcing, announce } from "../../router/stage/announce.ts";
import type { Health } from "./health.ts";
import { StartInterruptedError } from "./wait-for-cluster.ts";

/** The stages that carry out operator actions or exchange state with other processes. */
const CONTROLLED: readonly StageName[] = ["route", "deletion", "deliver", "delay"];

interface OperatorActionsDeps {
  readonly kafka: Kafka;
  readonly cluster: ClusterView;
  readonly log: Log;
  readonly health: Health;
  readonly clock: Clock;
  /** Ends the wait for the actions. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when the actions have been read, or if they cannot be read at the moment; with null if no stage carries out
 * operator actions.
 *
 * @throws StartInterruptedError if the signal aborts before.
 */
export async function configuredOperatorActions(
  config: Config,
  { kafka, cluster, log, health, clock, signal }: OperatorActionsDeps,
  stages: readonly StageName[],
): Promise<RunningOperatorActions | null> {
  if (!stages.some((stage) => CONTROLLED.includes(stage))) return null;
  const { operatorActions: topic } = configuredTopics(config);
  const isUnreachable = () => cluster.brokers().some(({ outage }) => outage !== null);
  const deps = { kafka, log, clock, isUnreachable, patienceMs };
  const operatorActions = followOperatorActions(deps, topic);
  health.add({ name: "operator-actions", healthProblems: operatorActions.healthProblems });
  const stop = () => operatorActions[Symbol.dispose]();
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  await operatorActions.known;
  signal.removeEventListener("abort", stop);
  if (signal.aborted) {
    throw new StartInterruptedError("interrupted while reading operator actions");
  }
  return operatorActions;
}

/**
 * Announces this process with its current configuration. Resolves when the process's clock has been measured, or if it
 * cannot be measured at the moment.
 */
export async function announceProcess(
  config: () => Config,
  { health, ...deps }: AnnounceDeps & { readonly health: Health },
  stages: readonly StageName[],
): Promise<Announcing> {
  const announcing = announce(deps, {
    topic: configuredTopics(config()).operatorActions,
    id: randomUUID(),
    stages,
    routes: () => {
      const { sources, destinations } = config();
      return new Map(
        sources.map((source) => {
          return [source.id, candidates(source, destinations).map(({ id }) => id)] as const;
        }),
      );
    },
  });
  health.add({ name: "process", healthProblems: announcing.healthProblems });
  await announcing.measured;
  return announcing;
}
