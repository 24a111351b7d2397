/** The schema registry of the configuration, shared by the stages of the process. */

import type { Config } from "../config/config.ts";
import { createSchemaSource } from "../registry/client.ts";
import { compileSchema } from "../registry/compile.ts";
import { currentSource } from "../registry/current-source.ts";
import type { Schemas } from "../registry/port.ts";
import { createSchemas } from "../registry/schemas.ts";
import { systemClock } from "../runtime/clock.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";

/**
 * Null: none is configured. The caller closes it after the stages.
 *
 * @param current the configuration by now: its URLs, passwords and TLS files are taken.
 * @throws Error when its TLS files cannot be used.
 */
export function configuredSchemas(
  { registry }: Pick<Config, "registry">,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  current = (): Pick<Config, "registry"> => ({ registry }),
): Schemas | null {
  if (registry === null) return null;
  return createSchemas({
    source: currentSource(() => current().registry ?? registry, createSchemaSource),
    compile: compileSchema,
    clock: systemClock,
    random: Math.random,
    log,
    metrics,
  });
}
