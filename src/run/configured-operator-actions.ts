/**
 * Follows the operatorActions of people while the program runs, where a stage goes by them. The caller
 * stops it before Kafka is closed.
 */

import type { Config } from "../config/config.ts";
import {
  followOperatorActions,
  type RunningOperatorActions,
} from "../control/follow-operator-actions.ts";
import type { StageName } from "../domain/stages.ts";
import type { ClusterView, Kafka } from "../kafka/port.ts";
import { configuredTopics } from "../operate/connect/connection.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";
import type { Health } from "./health.ts";

/** Those that go by what people ask for, and those that other processes share. */
const CONTROLLED: readonly StageName[] = ["route", "deletion", "deliver", "delay"];

interface OperatorActionsDeps {
  readonly kafka: Kafka;
  readonly cluster: ClusterView;
  readonly log: Log;
  readonly health: Health;
  readonly clock: Clock;
}

/** Resolves when it is known what was asked for, or cannot be for now. Null: no stage goes by it. */
export async function configuredOperatorActions(
  config: Config,
  { kafka, cluster, log, health, clock }: OperatorActionsDeps,
  stages: readonly StageName[],
): Promise<RunningOperatorActions | null> {
  if (!stages.some((stage) => CONTROLLED.includes(stage))) return null;
  const { operatorActions: topic } = configuredTopics(config);
  const isUnreachable = () => cluster.brokers().some(({ outage }) => outage !== null);
  const operatorActions = followOperatorActions({ kafka, log, clock, isUnreachable }, topic);
  health.add({ name: "operator-actions", healthProblems: operatorActions.healthProblems });
  await operatorActions.known;
  return operatorActions;
}
