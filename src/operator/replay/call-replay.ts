/**
 * Replays calls: reads calls from the topic `calls` again, and writes deliveries to the topic of one destination.
 * Each call is routed by the current configuration, for that destination only (`routeAgain`). If the registry is
 * unreachable, the replay waits for the schema of a call's value, as the route stage does.
 */

import { type Clock, systemClock } from "../../base/runtime/clock.ts";
import { createMetrics } from "../../base/telemetry/instruments.ts";
import { createLog } from "../../base/telemetry/log.ts";
import { unknownDestination, WrongUsage } from "../../base/words/wrong-usage.ts";
import type { Config } from "../../config/config.ts";
import type { Destination } from "../../domain/destination.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { Schemas } from "../../registry/port.ts";
import { routeAgain } from "../../router/route/route-for-replay.ts";
import { createRouting } from "../../router/route/routing.ts";
import { givenSchema } from "../../router/stage/await-schemas.ts";
import type { KnownSuppressions } from "../../router/suppression/known-suppressions.ts";
import { assertTopics } from "../connect/assert-topics.ts";
import { configuredSchemas } from "../connect/configured-schemas.ts";
import { ReadSuppressions } from "../connect/known-operations.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { type CallReplayOutcome, progressText } from "./call-outcome.ts";
import { countReplay, type Decide, type ReplayFigures } from "./replay.ts";
import type { CallReplayPlan, ChosenReplay } from "./replay-store.ts";
import { followReplay, openReplay, runReplay } from "./run-replay.ts";

export interface CallReplayOptions {
  readonly chosen: ChosenReplay<"calls">;
  readonly config: Pick<Config, "sources" | "defaultSource" | "registry" | "audit">;
  readonly topics: TopicNames;
  /** @throws WrongUsage if no calls are routed to the destination. */
  readonly destinationOf: (id: string) => Destination;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  /** The end of the command line with which the replay can be resumed, such as ` --config switchyard.yaml`. */
  readonly resumeArguments: string;
  /** If not set, the system clock is used. */
  readonly clock?: Clock;
}

/**
 * Starts or resumes a replay, and runs it until it ends. Returns null if the replay does not exist.
 *
 * @throws Error if a topic is missing, or Kafka does not respond at the start.
 */
export async function replayCalls(
  kafka: Kafka,
  options: CallReplayOptions,
  progressOutput: ProgressOutput,
): Promise<CallReplayOutcome | null> {
  const { topics, chosen, config, dryRun, signal, clock = systemClock } = options;
  await assertTopics(kafka.admin, [topics.calls]);
  const cluster = { kafka, topics, hasLedger: config.audit.enabled, signal, clock };
  const replay = await openReplay(cluster, "calls", chosen, { dryRun });
  if (replay === null) return null;
  const { plan, partitions } = replay.stored;
  const destination = options.destinationOf(plan.destination);
  const topic = topics.deliveries(destination.id);
  await assertTopics(kafka.admin, [topic]);
  const log = createLog("error", { write: progressOutput.err });
  await using schemas = await configuredSchemas(config, { log, metrics: createMetrics() });
  const reading = new ReadSuppressions(kafka, topics.suppressions, signal);
  const suppressions = await reading.read();
  const given = { plan, config, topics, destination, schemas, suppressions, clock, signal };
  const decide = callDecisions(given);
  const total = partitions.reduce((sum, { position, to }) => sum + to - position, 0);
  const text = (figures: ReplayFigures) => progressText(figures, total);
  if (dryRun) {
    using shown = followReplay(text, progressOutput);
    const end = (await countReplay(replay, decide, shown)) ? "counted" : "interrupted";
    const { own: counts } = shown.figures();
    return { replay: null, topic, plan, end, error: null, counts, resume: null };
  }
  const { name, end, error, counts } = await runReplay(
    kafka,
    replay,
    { decide, suppressions: reading },
    text,
    progressOutput,
  );
  const command = `switchyard replay --resume ${name}${options.resumeArguments}`;
  return { replay: name, topic, plan, end, error, counts, resume: end === "done" ? null : command };
}

export interface CallDecisions {
  readonly plan: CallReplayPlan;
  readonly config: Pick<Config, "sources" | "defaultSource">;
  readonly topics: TopicNames;
  readonly destination: Destination;
  /** Null if no registry is configured. */
  readonly schemas: Schemas | null;
  /** The suppressions that have been read (`ReplayRules.suppressions`). */
  readonly suppressions?: KnownSuppressions;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export function callDecisions(given: CallDecisions): Decide {
  const { plan, config, topics, destination, schemas, suppressions, clock, signal } = given;
  const routing = createRouting(config.sources, config.defaultSource, [destination], topics);
  return async (record, onWaiting) => {
    const whole = await withKnownSchema(schemas, record, signal, onWaiting);
    const nowMs = clock.nowMs();
    const routed = routeAgain(whole, plan.asked, routing, destination, nowMs, suppressions);
    if (routed.kind === "written") return { kind: "write", outgoing: routed.outgoing };
    return { kind: "skip", as: `${routed.kind}:${routed.reason}` };
  };
}

async function withKnownSchema(
  schemas: Schemas | null,
  record: IncomingRecord,
  signal: AbortSignal,
  onWaiting: (why: string | null) => void,
): Promise<IncomingRecord> {
  if (schemas === null || record.omitted !== undefined) return record;
  for (let isWaiting = false; ; isWaiting = true) {
    const given = givenSchema(record, (ref) => schemas.get(ref));
    if (typeof given === "object") {
      if (isWaiting) onWaiting(null);
      return given;
    }
    const waiting = [`schema ${given} from the registry`, ...schemas.healthProblems()];
    onWaiting(waiting.join("; "));
    await schemas.ready([given], signal);
  }
}

/** Finds the destination of a replay of calls. @throws WrongUsage if no calls are routed to the destination. */
export function routedTo(
  { destinations, sources }: Pick<Config, "destinations" | "sources">,
  id: string,
): Destination {
  const destination = destinations.find((each) => each.id === id);
  if (destination === undefined) {
    throw unknownDestination(
      id,
      destinations.map((each) => each.id),
    );
  }
  if (!destination.enabled) {
    throw new WrongUsage(
      `The destination ${id} is disabled: nothing is routed to it. Set enabled to true first.`,
    );
  }
  if (!sources.some((source) => source.destinations.includes(destination.id))) {
    throw new WrongUsage(
      `No source has the destination ${id} in its list: nothing is routed to it. Add it to sources[].destinations first.`,
    );
  }
  return destination;
}
