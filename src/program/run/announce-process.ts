/**
 * Announces this process with its current configuration. Resolves when the process's clock has been measured, or if it
 * cannot be measured at the moment.
 */

import { randomUUID } from "node:crypto";
import type { Config } from "../../config/config.ts";
import type { StageName } from "../../domain/stages.ts";
import { configuredTopics } from "../../operator/connect/connection.ts";
import { candidates } from "../../router/route/route.ts";
import { type AnnounceDeps, type Announcing, announce } from "../../router/stage/announce.ts";
import type { Health } from "./health.ts";

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
