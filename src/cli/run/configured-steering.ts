/**
 * Follows the operatorActions of people while the program runs, where a stage goes by them. The caller
 * stops it before Kafka is closed.
 */

import type { Health } from "../../admin/health.ts";
import type { Config } from "../../config/config.ts";
import type { StageName } from "../../domain/stages.ts";
import type { ClusterView, Kafka } from "../../kafka/port.ts";
import type { Clock } from "../../runtime/clock.ts";
import { followOperations, type RunningSteering } from "../../stage/follow-operator-actions.ts";
import type { Log } from "../../telemetry/log.ts";
import { configuredTopics } from "../connection.ts";

/** Those that go by what people ask for, and those that other processes share. */
const STEERED: readonly StageName[] = ["route", "deletion", "deliver", "delay"];

interface SteeringDeps {
  readonly kafka: Kafka;
  readonly cluster: ClusterView;
  readonly log: Log;
  readonly health: Health;
  readonly clock: Clock;
}

/** Resolves when it is known what was asked for, or cannot be for now. Null: no stage goes by it. */
export async function configuredSteering(
  config: Config,
  { kafka, cluster, log, health, clock }: SteeringDeps,
  stages: readonly StageName[],
): Promise<RunningSteering | null> {
  if (!stages.some((stage) => STEERED.includes(stage))) return null;
  const { operatorActions } = configuredTopics(config);
  const isAway = () => cluster.brokers().some(({ away }) => away !== null);
  const steering = followOperations({ kafka, log, clock, isAway }, operatorActions);
  health.add({ name: "operator-actions", troubles: steering.troubles });
  await steering.known;
  return steering;
}
