/** Creates the schema registry that the stages of a process share, from the configuration. */

import { systemClock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Config } from "../../config/config.ts";
import type { Schemas } from "../../registry/port.ts";

/**
 * Returns null, without loading the registry client, if no registry is configured. The caller closes the registry
 * after the stages.
 *
 * @param current returns the current configuration, whose URLs, passwords and TLS files are used.
 * @throws Error if the registry's TLS files cannot be used.
 */
export async function configuredSchemas(
  { registry }: Pick<Config, "registry">,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  current = (): Pick<Config, "registry"> => ({ registry }),
): Promise<Schemas | null> {
  if (registry === null) return null;
  const { createSchemaSource } = await import("../../registry/client.ts");
  const { compileSchema } = await import("../../registry/compile.ts");
  const { currentSource } = await import("../../registry/client.ts");
  const { createSchemas } = await import("../../registry/schemas.ts");
  return createSchemas({
    source: currentSource(() => current().registry ?? registry, createSchemaSource),
    compile: compileSchema,
    clock: systemClock,
    random: Math.random,
    log,
    metrics,
  });
}
