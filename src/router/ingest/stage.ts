/**
 * The ingest stage: writes calls that arrive over HTTP to the `calls` topic.
 *
 *   step                                             if the process crashes after it
 *   1  the body is read within the limits            no response: the client sends it again
 *   2  its calls become records, in slices; those    the same
 *      of suppressed users do not
 *   3  the records are passed to the producer         the same; some may be written, and then exist twice
 *   4  all records are acknowledged (acks=all)       the same, and all of them exist twice
 *   5  the response is sent: 200                     nothing is lost
 *
 * If the records of a request are not acknowledged in time, the response is a 503. The producer continues to retry,
 * so the records may still be written, and they count as in flight until then. While the oldest record has been
 * waiting for longer than the limit, no more calls are accepted, so that an outage does not fill the memory.
 */

import { connectionsWithin } from "../../base/runtime/connections.ts";
import { spareDescriptors } from "../../base/runtime/descriptors.ts";
import { inTurn } from "../../base/runtime/in-turn.ts";
import { createPenaltyDelay } from "../../base/runtime/penalty-delay.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Source } from "../../domain/destination.ts";
import type { RunningStage, StageDeps } from "../stage/running-stage.ts";
import { ACKNOWLEDGE_LIMIT_MS, type Intake, take } from "./handle-request.ts";
import { knownSources } from "./known-sources.ts";
import { maxInFlightBytes } from "./limits.ts";
import { createHandOver } from "./produce-and-wait.ts";
import { createReport } from "./report.ts";
import { SERVER_TIMES, type ServerSettings, type ServerTimes, startServer } from "./server.ts";
import { createSlowBodies } from "./slow-bodies.ts";

export type IngestDeps = Pick<
  StageDeps,
  "producer" | "clock" | "log" | "metrics" | "tracing" | "suppressions"
>;

export interface IngestConfig extends Omit<ServerSettings, "times" | "connectionLimits"> {
  /** The `calls` topic. */
  readonly topic: string;
  readonly sources: readonly Source[];
  /** Limit for the total size of bodies that are being read and records that are not acknowledged, over all requests. */
  readonly maxInFlightBytes: number;
  /** The part of `maxInFlightBytes` for bodies whose write key is unknown until they are read. */
  readonly maxUnauthenticatedBytes: number;
  /** The minimum rate of a body. */
  readonly minBodyBytesPerSecond: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** If `true`, callers decide which of their traces are kept; if absent, they do not. */
  readonly parentBased?: boolean;
  /** How long new connections are still accepted after the stop was requested. */
  readonly handoverMs: number;
  /** How long requests in progress may take after the handover. */
  readonly drainLimitMs: number;
  readonly times?: ServerTimes;
}

export interface RunningIngest extends RunningStage {
  /** The address on which the server listens; the actual port if 0 was configured. */
  readonly port: number;
}

/** Resolves when the server is listening. The topic must exist. */
export async function startIngest(deps: IngestDeps, config: IngestConfig): Promise<RunningIngest> {
  const times = config.times ?? SERVER_TIMES;
  let sources = knownSources(config.sources, null);
  let hadKeys = hasKeys(config.sources);
  warnWithoutKeys(deps.log, config.sources);
  const intake = createIntake(deps, config, times, () => sources);
  // This is computed last, after the other stages have opened their files and sockets.
  const all = connectionsWithin(config.maxConnections, spareDescriptors());
  const connectionLimits = { all, perAddress: Math.min(config.maxConnectionsPerAddress, all) };
  const server = await startServer(
    { ...config, times, connectionLimits },
    (...asked) => take(intake, ...asked),
    (reason) => deps.metrics.ingestConnectionsClosed.bind({ reason }).inc(),
  );
  const looking = setInterval(() => intake.slowBodies.look(performance.now()), times.checkMs);
  const unwatch = deps.metrics.onScrape(() => {
    deps.metrics.ingestInFlightBytes.bind({}).set(intake.bytes.total());
    deps.metrics.ingestConnections.bind({}).set(server.connections());
  });
  const { host } = config;
  deps.log.info({ stage: "ingest", host, port: server.port, connections: all }, "ingest.listening");
  return {
    name: "ingest",
    port: server.port,
    joined: Promise.resolve(),
    healthProblems: () => {
      const waitMs = intake.handOver.oldestWaitMs();
      if (waitMs <= ACKNOWLEDGE_LIMIT_MS) return [];
      return [`the brokers have not acknowledged a write for ${Math.round(waitMs / 1_000)} s`];
    },
    update: (settings) => {
      if (hadKeys) warnWithoutKeys(deps.log, settings.sources);
      hadKeys = hasKeys(settings.sources);
      sources = knownSources(settings.sources, sources);
      if (settings.ingestTls !== null) server.renew(settings.ingestTls);
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop(config.handoverMs, config.drainLimitMs);
      clearInterval(looking);
      unwatch();
    },
  };
}

function hasKeys(sources: readonly Source[]): boolean {
  return sources.some(({ writeKeys }) => writeKeys.length > 0);
}

function warnWithoutKeys(log: Log, sources: readonly Source[]): void {
  if (hasKeys(sources)) return;
  const fix = "give a source a writeKey, or remove ingest from the stages";
  log.warn({ stage: "ingest", fix }, "ingest.no-write-keys");
}

function createIntake(
  deps: IngestDeps,
  config: IngestConfig,
  times: ServerTimes,
  sources: Intake["sources"],
): Intake {
  const { tracing } = deps;
  return {
    clock: deps.clock,
    topic: config.topic,
    suppressions: deps.suppressions,
    isSecure: config.tls !== null,
    sources,
    bytes: maxInFlightBytes(config.maxInFlightBytes),
    maxUnauthenticatedBytes: maxInFlightBytes(config.maxUnauthenticatedBytes),
    slowBodies: createSlowBodies(config.minBodyBytesPerSecond, times.bodyWindowMs),
    inTurn: inTurn(),
    penaltyDelay: createPenaltyDelay(deps.clock),
    handOver: createHandOver(deps.producer, deps.clock),
    report: createReport(deps),
    traced: tracing === undefined ? null : { tracing, parentBased: config.parentBased ?? false },
  };
}
