/**
 * Follows the suppressions while the program runs, if any of its stages needs them. The caller stops this before Kafka is
 * closed.
 *
 *   stage                              starts
 *   deletion, console                  immediately: it sends nothing for a user that another stage would not check
 *   ingest, audience, deliver, delay   when the topic has been read
 *   route                              when, in addition, a key for user hashes is known
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

/** What has to be known before a stage starts. */
const AWAITED: Readonly<Record<StageName, "nothing" | "read" | "hasKey">> = {
  ...({ deletion: "nothing", console: "nothing" } as const),
  ...({ ingest: "read", audience: "read", deliver: "read", delay: "read" } as const),
  route: "hasKey",
};

/** Stages that start together, when the promise resolves. */
type StartGroup = readonly [readonly StageName[], Promise<void>];

/** Null if no stage needs suppressions. */
export function configuredSuppressions(
  config: Config,
  { health, ...deps }: Omit<SuppressionsDeps, "randomBytes"> & { readonly health: Health },
  stages: readonly StageName[],
): FollowedSuppressions | null {
  const awaited = stages.map((stage) => AWAITED[stage]);
  if (awaited.every((each) => each === "nothing")) return null;
  const needsKey = awaited.includes("hasKey");
  const options = { topic: configuredTopics(config).suppressions, needsKey };
  const followed = new FollowedSuppressions({ ...deps, randomBytes }, options);
  health.add({ name: "suppressions", healthProblems: () => followed.healthProblems() });
  return followed;
}

/** Returns the stages in the order of the table. A group of which no stage was chosen is omitted. */
export function startGroups(
  stages: readonly StageName[],
  suppressions: Pick<FollowedSuppressions, "read" | "hasKey"> | null,
): readonly StartGroup[] {
  const nothing = Promise.resolve();
  const { read = nothing, hasKey = nothing } = suppressions ?? {};
  return Object.entries({ nothing, read, hasKey })
    .map(([awaited, known]) => [stages.filter((each) => AWAITED[each] === awaited), known] as const)
    .filter(([group]) => group.length > 0);
}
