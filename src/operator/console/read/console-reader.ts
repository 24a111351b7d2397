/** Reads the data for the console from Kafka, and from the admin ports of the processes. */

import { asError } from "../../../base/runtime/as-error.ts";
import { METRICS } from "../../../base/telemetry/metrics.ts";
import { isSkipReason, SKIP_REASONS } from "../../../base/words/reasons.ts";
import type { Config } from "../../../config/config.ts";
import type { Loaded } from "../../../config/load.ts";
import { printConfig } from "../../../config/print.ts";
import { decodeValue } from "../../../domain/decode.ts";
import { isJsonObject } from "../../../domain/json.ts";
import type { MetricValues } from "../../../domain/process-status.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { openCommandSchemas } from "../../connect/command-schemas.ts";
import { configuredTopics } from "../../connect/connection.ts";
import { healthProblemsOf } from "../../look/health-problems.ts";
import { inTime } from "../../look/keep-connected.ts";
import { look, type UseKafka } from "../../look/look.ts";
import { type Polled, pollProcesses, reached } from "../../look/processes.ts";
import { factsBy } from "../../timeline/facts.ts";
import { readLatest } from "../../timeline/read-latest.ts";
import {
  type AllCounters,
  AT,
  type Counters,
  DESTINATION_WIDTH,
  FLOW_AT,
  FLOW_WIDTH,
} from "../counters.ts";
import type { CallsQuery, ConsoleReader, Poll } from "../ports.ts";
import type { CallsView, LatestCall } from "../query-view.ts";
import { RESPONSE_CLASSES } from "../view.ts";
import { readAttempts } from "./attempts.ts";
import { readAudiencesView } from "./audiences.ts";
import { type CallSource, readCallView } from "./call.ts";
import { readDeadLettersView } from "./dead-letters.ts";

export interface ConsoleReaderOptions {
  /** The current configuration, and its hash. */
  readonly current: () => { readonly config: Config; readonly hash: string };
  /** Reads the configuration file again. */
  readonly load: () => Loaded;
  /** Admin ports: `host:port`. */
  readonly admins: readonly string[];
  /** If not set, the configured registry is used. */
  readonly openSchemas?: typeof openCommandSchemas;
  /** Runs the work with a connection to Kafka. @throws Error if there is no connection. */
  readonly useKafka: <Result>(work: (kafka: Kafka) => Promise<Result>) => Promise<Result>;
}

/** Longer than the time limit of any query of the console. */
const QUERY_LIMIT_MS = 25_000;
const UNREACHABLE_LIMIT_MS = 3_000;
const CUT =
  "Not everything could be read in time. Choose a shorter time, or use: switchyard timeline";

export function createConsoleReader(options: ConsoleReaderOptions): ConsoleReader {
  const { current, load, admins, useKafka, openSchemas = openCommandSchemas } = options;
  let isUnreachable = false;
  const answered = asking(useKafka, () => isUnreachable);
  return {
    pollOnce: async (signal) => {
      const { config, hash } = current();
      const read: UseKafka = (work) =>
        inTime(
          useKafka((kafka) => work(kafka, signal)),
          signal,
        );
      const shown = { config, hash, admins, rateWindowMs: null };
      const { report, polled } = await look(read, shown, signal);
      isUnreachable = report.kafkaError !== null;
      return {
        report,
        healthProblems: healthProblemsOf(report),
        configured: configuredDestinations(config),
        counters: countersOf(polled),
      };
    },
    sample: async (signal) => {
      // Kafka is not polled here, so it is unknown whether it is reachable.
      isUnreachable = false;
      return countersOf(await pollProcesses(admins, null, signal));
    },
    deadLetters: (query, signal) => {
      const { config } = current();
      const source = {
        topics: configuredTopics(config),
        payloads: config.console.showPayloads,
        nowMs: Date.now(),
        signal,
      };
      return answered((kafka) => readDeadLettersView({ ...source, kafka }, query), signal);
    },
    audiences: (signal) => {
      const topics = configuredTopics(current().config);
      return answered((kafka) => readAudiencesView(kafka, topics, signal), signal);
    },
    call: async (query, signal) => {
      const { config } = current();
      const read = (kafka: Kafka) => readCallView({ kafka, config, openSchemas, signal }, query);
      const found = await answered(read, signal);
      if (found === null) throw new Error(CUT);
      return found;
    },
    latestCalls: (query, signal) => {
      const { config } = current();
      const read = (kafka: Kafka) => readLatestCalls({ kafka, config, openSchemas, signal }, query);
      return answered(read, signal);
    },
    attempts: (destination, signal) => {
      const { config } = current();
      return answered((kafka) => readAttempts({ kafka, config, signal }, destination), signal);
    },
    configuration: () => {
      const loaded = load();
      const yaml = loaded.kind === "config" ? printConfig(loaded.given) : null;
      return Promise.resolve({ yaml, hash: loaded.kind === "config" ? loaded.hash : "" });
    },
  };
}

function configuredDestinations({ destinations, sources }: Config): Poll["configured"] {
  const connected = Map.groupBy(
    sources.flatMap((source) => source.destinations.map((id) => ({ id, source: source.id }))),
    ({ id }) => id,
  );
  return new Map(
    destinations.map(({ id, name, kind, isAttempted }) => {
      const own = (connected.get(id) ?? []).map(({ source }) => source);
      return [id, { name, kind, isAttempted, sources: own }];
    }),
  );
}

function countersOf(polled: readonly Polled[]): AllCounters {
  return new Map(
    reached(polled).map(({ address, after: { status } }) => {
      const startedAtMs = Date.parse(status.startedAt);
      return [address, { ...digest(status.metrics), startedAtMs }];
    }),
  );
}

/** Returns a function that reads while a user waits. If Kafka is known to be unreachable, the time limit is short. */
function asking(useKafka: ConsoleReaderOptions["useKafka"], isUnreachable: () => boolean) {
  return async <Result>(
    work: (kafka: Kafka) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const limitMs = isUnreachable() ? UNREACHABLE_LIMIT_MS : QUERY_LIMIT_MS;
    try {
      return await inTime(useKafka(work), signal, limitMs);
    } catch (error) {
      throw new Error(`Kafka cannot be read: ${asError(error).message}`, { cause: error });
    }
  };
}

/** Turns the metrics of a process into the numbers that the console's history stores. */
export function digest(metrics: MetricValues): Omit<Counters, "startedAtMs"> {
  const flow = new Float64Array(FLOW_WIDTH);
  const counts = new Array<boolean>(FLOW_WIDTH).fill(false);
  const destinations = new Map<string, Float64Array>();
  const addTo = (id: string, place: number, value: number) => {
    const row = destinations.get(id) ?? new Float64Array(DESTINATION_WIDTH);
    destinations.set(id, row);
    row[place] = (row[place] ?? 0) + value;
  };
  const count = (place: number, value: number) => {
    flow[place] = (flow[place] ?? 0) + value;
    counts[place] = true;
  };
  const valuesOf = ({ name }: { readonly name: string }) => metrics[name] ?? [];
  for (const { labels, value } of valuesOf(METRICS.attempts)) {
    count(labels.outcome === "accepted" ? FLOW_AT.accepted : FLOW_AT.failed, value);
  }
  for (const { labels, value } of valuesOf(METRICS.requests)) {
    addTo(labels.destination ?? "", AT.responses + responseAt(labels.outcome ?? ""), value);
  }
  for (const { value } of valuesOf(METRICS.callsRouted)) count(FLOW_AT.routed, value);
  for (const { labels, value } of valuesOf(METRICS.callsSkipped)) {
    const { destination = "", reason = "" } = labels;
    if (isSkipReason(reason)) addTo(destination, AT.skipped + SKIP_REASONS.indexOf(reason), value);
  }
  for (const { labels, value } of valuesOf(METRICS.recordsIn)) {
    if (labels.stage === "route") count(FLOW_AT.calls, value);
  }
  for (const { value } of valuesOf(METRICS.deadLetters)) count(FLOW_AT.deadLetters, value);
  for (const { labels, buckets = [] } of valuesOf(METRICS.attemptDuration)) {
    const { destination = "" } = labels;
    // With `metrics.destinations: counts`, values without a destination are for all destinations together.
    if (destination === "") continue;
    for (const [at, observed] of buckets.entries()) addTo(destination, AT.buckets + at, observed);
  }
  // A process that counts calls also counts dead letters. If it reports none, their number is 0.
  if (counts[FLOW_AT.calls] === true) counts[FLOW_AT.deadLetters] = true;
  return { flow, destinations, counts };
}

function responseAt(outcome: string): number {
  const at = (RESPONSE_CLASSES as readonly string[]).indexOf(outcome.replace(/^tls-.*/, "tls"));
  return at < 0 ? RESPONSE_CLASSES.indexOf("other") : at;
}

/**
 * Reads the latest calls, either of all users or of one user. Only the hash of that user's ID is known. Reading ends
 * after 10 s, and returns the calls found by then, which are the latest ones.
 */
const LIMIT_MS = 10_000;
const OF_USER_MAX = 100;
const OF_ALL_MAX = 20;

async function readLatestCalls(
  { kafka, config, openSchemas, signal }: CallSource,
  { isUser, sinceMs }: CallsQuery,
): Promise<CallsView> {
  const topics = configuredTopics(config);
  const nowMs = Date.now();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  await using schemas = await openSchemas(config.registry, limit);
  const factsOf = factsBy(config, topics, nowMs);
  const findRead = (record: IncomingRecord): Omit<LatestCall, "at"> | null => {
    if (isUser !== null && !idsOf(record).some(isUser)) return null;
    const facts = factsOf(record);
    if (facts.kind === "call") {
      const { messageId, type, event, source } = facts;
      return { messageId, type, event: config.console.showPayloads ? event : null, source };
    }
    const { topic, partition, offset } = record;
    const messageId = `${topic}/${partition}/${offset}`;
    return { messageId, type: `not a call (${facts.reason})`, event: null, source: "" };
  };
  const find = (record: IncomingRecord) => {
    if (schemas.of(record) === null) return findRead(record);
    // Without the schema, the user of a call cannot be determined.
    return schemas
      .given(record)
      .then((given) => (typeof given === "string" ? null : findRead(given)));
  };
  const {
    found,
    looked: scanned,
    isCut,
    ...reached
  } = await readLatest(
    { kafka, signal: limit, nowMs: () => Date.now() },
    {
      topic: topics.calls,
      sinceMs: nowMs - sinceMs,
      most: isUser === null ? OF_ALL_MAX : OF_USER_MAX,
      find,
    },
  );
  return {
    calls: found.map(({ atMs, value }) => ({ at: new Date(atMs).toISOString(), ...value })),
    scanned,
    since: new Date(reached.sinceMs).toISOString(),
    isCut,
  };
}

/** Returns the user ID and the anonymous ID, even of an invalid call. As in valid calls, numbers count as strings. */
function idsOf(record: IncomingRecord): readonly string[] {
  const decoded = decodeValue(record);
  if (decoded.kind === "refused" || !isJsonObject(decoded.json)) return [];
  const { userId, anonymousId } = decoded.json;
  return [userId, anonymousId].flatMap((id) =>
    typeof id === "string" || typeof id === "number" ? `${id}` : [],
  );
}
