/** Creates the configured tracing, shared by the stages of the process. */

import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { ClosableTracing, OtlpWatch } from "../../base/telemetry/tracing/otlp.ts";
import type { Config } from "../../config/config.ts";
import { programVersion } from "../../operator/connect/program-version.ts";

const LINE_EVERY_MS = 60_000;

/**
 * Returns null if tracing is disabled. In this case, the library for tracing is not loaded. The caller closes the
 * result last.
 */
export async function configuredTracing(
  { tracing }: Pick<Config, "tracing">,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): Promise<ClosableTracing | null> {
  if (tracing === null) return null;
  const { createOtlp } = await import("../../base/telemetry/tracing/otlp.ts");
  const { url, headers, sampleRatio, serviceName } = tracing;
  const version = programVersion();
  const options = {
    url,
    headers: Object.fromEntries(headers),
    sampleRatio,
    serviceName,
    version,
    random: Math.random,
  };
  return createOtlp(options, watching(log, metrics));
}

function watching(log: Log, metrics: Metrics): OtlpWatch {
  const count = (outcome: "posted" | "dropped") => metrics.tracingSpans.bind({ outcome });
  const [posted, dropped] = [count("posted"), count("dropped")];
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return {
    posted: (spans) => posted.inc(spans),
    failed: (spans, error) => {
      dropped.inc(spans);
      const nowMs = performance.now();
      if (nowMs - saidAtMs < LINE_EVERY_MS) return;
      saidAtMs = nowMs;
      log.warn({ error, count: spans }, "tracing.dropped");
    },
  };
}
