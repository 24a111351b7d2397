/** Reads the data for the console from Kafka, and from the admin ports of the processes. */

import { asError } from "../../../base/runtime/as-error.ts";
import type { Config } from "../../../config/config.ts";
import type { Loaded } from "../../../config/load.ts";
import { printConfig } from "../../../config/print.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { openCommandSchemas } from "../../connect/command-schemas.ts";
import { healthProblemsOf } from "../../look/health-problems.ts";
import { inTime } from "../../look/keep-connected.ts";
import { look, type UseKafka } from "../../look/look.ts";
import { type Polled, pollProcesses, reached } from "../../look/processes.ts";
import { type AllCounters, digest } from "../counters.ts";
import type { ConsoleReader, Poll, Query } from "../ports.ts";
import type { KafkaQueryName, QueryResults } from "../query-view.ts";
import { readAttempts } from "./attempts.ts";
import { readAudiencesView } from "./audiences.ts";
import { readCallView } from "./call.ts";
import { readDeadLettersView } from "./dead-letters.ts";
import { readLatestCalls } from "./latest-calls.ts";
import type { QuerySource } from "./query-source.ts";

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
    read: async (name, query, signal) => {
      const { config } = current();
      const found = await answered(
        (kafka) => READERS[name]({ kafka, config, openSchemas, signal }, query),
        signal,
      );
      if (found === null) throw new Error(CUT);
      return found;
    },
    configuration: () => {
      const loaded = load();
      return loaded.kind === "config"
        ? { yaml: printConfig(loaded.given), hash: loaded.hash }
        : { yaml: null, hash: "" };
    },
  };
}

/** They resolve with null if reading takes too long. */
const READERS: {
  readonly [Name in KafkaQueryName]: (
    source: QuerySource,
    query: Query,
  ) => Promise<QueryResults[Name] | null>;
} = {
  "dead-letters": readDeadLettersView,
  audiences: readAudiencesView,
  call: readCallView,
  calls: readLatestCalls,
  attempts: readAttempts,
};

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
