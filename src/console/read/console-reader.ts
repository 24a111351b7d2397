/** Reads the data for the console from Kafka, and from the admin ports of the processes. */

import type { Config } from "../../config/config.ts";
import type { Load } from "../../config/load.ts";
import { printConfig } from "../../config/print.ts";
import type { Kafka } from "../../kafka/port.ts";
import { openCommandSchemas } from "../../operate/connect/command-schemas.ts";
import { configuredTopics } from "../../operate/connect/connection.ts";
import { inTime } from "../../operate/look/keep-connected.ts";
import { look, type UseKafka } from "../../operate/look/look.ts";
import { type Polled, pollProcesses, reached } from "../../operate/look/processes.ts";
import { knownEndpoints } from "../../operate/replay/rows.ts";
import { asError } from "../../runtime/as-error.ts";
import type { AllCounters } from "../counters.ts";
import type { ConsoleReader } from "../ports.ts";
import { readAttempts } from "./attempts.ts";
import { readAudiencesView } from "./audiences.ts";
import { readCallView } from "./call.ts";
import { changesView, hiding } from "./changes.ts";
import { foreignReferences, prepareComparison } from "./compared-calls.ts";
import { readDeadLettersView } from "./dead-letters.ts";
import { digest } from "./digest.ts";
import { readLatestCalls } from "./latest-calls.ts";
import { snapshotOf } from "./snapshot.ts";

export interface ConsoleReaderOptions {
  /** The current configuration, and its hash. */
  readonly current: () => { readonly config: Config; readonly hash: string };
  /** Reads the configuration file again, or reads other content as if it were the content of the file. */
  readonly load: Load;
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
      // There is only one reading, because the rates come from the history.
      const shown = { config, hash, admins, rateWindowMs: 0 };
      const { report, polled } = await look(read, shown, signal);
      isUnreachable = report.kafkaError !== null;
      return { snapshot: snapshotOf(report, config), counters: countersOf(polled) };
    },
    sample: async (signal) => {
      // Kafka is not polled here, so it is unknown whether it is reachable.
      isUnreachable = false;
      return countersOf(await pollProcesses(admins, new Map(), 0, signal));
    },
    sourcesOf: (destination) =>
      current()
        .config.sources.filter(({ destinations }) => destinations.some((id) => id === destination))
        .map(({ id }) => id),
    deadLetters: (query, signal) => {
      const { config } = current();
      const source = {
        topics: configuredTopics(config),
        known: knownEndpoints(config.destinations),
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
    changes: (content) => {
      const inUse = load();
      const foreign = foreignReferences(content, inUse.kind === "config" ? inUse.given : null);
      if (foreign !== null) return Promise.resolve(foreign);
      const given = load({ content, only: inUse.files });
      const hide = hiding(given.taken, content.toString());
      return Promise.resolve(changesView(current().config, given, hide));
    },
    compareCalls: (content, query) =>
      prepareComparison({ current, load, useKafka, openSchemas }, content, query),
    configuration: () => {
      const loaded = load();
      const yaml = loaded.kind === "config" ? printConfig(loaded.given) : null;
      return Promise.resolve({ yaml, hash: loaded.kind === "config" ? loaded.hash : "" });
    },
  };
}

function countersOf(polled: readonly Polled[]): AllCounters {
  return new Map(
    reached(polled).map(({ address, after }) => [address, digest(after.status.metrics)]),
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
