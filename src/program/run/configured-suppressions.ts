/**
 * Follows the suppressions while the program runs, if any of its stages needs them. The caller stops this before Kafka is
 * closed.
 *
 *   stage                              starts when the topic has been read, and
 *   ingest, audience, deliver          -
 *   route                              a key for user hashes is known
 *   deletion, delay, console           does not wait: it sends nothing for a user that another stage would not check
 */

import { randomBytes } from "node:crypto";
import type { Config } from "../../config/config.ts";
import type { StageName } from "../../domain/stages.ts";
import { configuredTopics } from "../../operator/connect/connection.ts";
import {
  FollowedSuppressions,
  type SuppressionsDeps,
} from "../../router/suppression/follow-suppressions.ts";
import type { Health } from "./health.ts";

const MATCHING: readonly StageName[] = ["ingest", "route", "audience", "deliver"];

/** Null if no stage needs suppressions. The stages must not start before `known` resolves. */
export function configuredSuppressions(
  config: Config,
  { health, ...deps }: Omit<SuppressionsDeps, "randomBytes"> & { readonly health: Health },
  stages: readonly StageName[],
): FollowedSuppressions | null {
  if (!stages.some((stage) => MATCHING.includes(stage))) return null;
  const options = {
    topic: configuredTopics(config).suppressions,
    needsKey: stages.includes("route"),
  };
  const followed = new FollowedSuppressions({ ...deps, randomBytes }, options);
  health.add({ name: "suppressions", healthProblems: () => followed.healthProblems() });
  return followed;
}
