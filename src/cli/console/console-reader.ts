/** The eyes of the page: Kafka, and the admin ports of the processes. */

import type { Config } from "../../config/config.ts";
import type { Load } from "../../config/load.ts";
import { printConfig } from "../../config/print.ts";
import type { ConsoleReader } from "../../console/ports.ts";
import type { Kafka } from "../../kafka/port.ts";
import { asError } from "../../runtime/as-error.ts";
import { openCommandSchemas } from "../command-schemas.ts";
import { configuredTopics } from "../connection.ts";
import { knownEndpoints } from "../dead-letters/rows.ts";
import { inTime } from "../status/keep-connected.ts";
import type { Look } from "../status/rates.ts";
import { readKafka, reportOf, settled } from "../status/show.ts";
import { readAttempts } from "./attempts.ts";
import { readAudiencesView } from "./audiences.ts";
import { readCallView } from "./call.ts";
import { changesView, hiding } from "./changes.ts";
import { readDeadLettersView } from "./dead-letters.ts";
import { askAll, countersOf } from "./scrape.ts";
import { seenOf } from "./snapshot.ts";
import { readUserCalls } from "./user-calls.ts";

export interface ConsoleReaderOptions {
  /** The configuration by now, and its hash. */
  readonly current: () => { readonly config: Config; readonly hash: string };
  /** Reads the file again, or what somebody gives in its place. */
  readonly load: Load;
  /** Admin ports: `host:port`. */
  readonly admins: readonly string[];
  /** Left out: the configured registry is asked. */
  readonly openSchemas?: typeof openCommandSchemas;
  /** Does some work with a connection to Kafka. @throws Error when there is none. */
  readonly useKafka: <Result>(work: (kafka: Kafka) => Promise<Result>) => Promise<Result>;
}

/** Longer than anything that is read for a page may take. */
const ANSWER_LIMIT_MS = 25_000;
const AWAY_LIMIT_MS = 3_000;
const CUT =
  "Not everything could be read in time. Choose a shorter time, or use: switchyard timeline";

export function createConsoleReader(options: ConsoleReaderOptions): ConsoleReader {
  const { current, load, admins, useKafka, openSchemas = openCommandSchemas } = options;
  let isAway = false;
  const answered = asking(useKafka, () => isAway);
  let looks: ReadonlyMap<string, Look> = new Map();
  return {
    look: async (signal) => {
      const { config, hash } = current();
      const options = { config, hash, admins, rateWindowMs: 0, json: true, failing: false };
      const shown = { ...options, destination: null };
      const read = useKafka((kafka) => readKafka(kafka, shown, signal));
      const [asked, found] = await Promise.all([
        askAll(admins, looks, signal),
        settled(inTime(read, signal)),
      ]);
      looks = asked.looks;
      const report = reportOf(shown, asked.scraped, found);
      isAway = report.kafkaError !== null;
      return { seen: seenOf(report, config), counters: asked.counters };
    },
    sample: (signal) => {
      // Nobody looks, so that nobody knows.
      isAway = false;
      return countersOf(admins, signal);
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
    userCalls: (query, signal) => {
      const { config } = current();
      const read = (kafka: Kafka) => readUserCalls({ kafka, config, openSchemas, signal }, query);
      return answered(read, signal);
    },
    attempts: (destination, signal) => {
      const { config } = current();
      return answered((kafka) => readAttempts({ kafka, config, signal }, destination), signal);
    },
    changes: (content) => {
      const given = load({ content, only: load().files });
      const hide = hiding(given.taken, content.toString());
      return Promise.resolve(changesView(current().config, given, hide));
    },
    configuration: () => {
      const loaded = load();
      const yaml = loaded.kind === "config" ? printConfig(loaded.given) : null;
      return Promise.resolve({ yaml, hash: loaded.kind === "config" ? loaded.hash : "" });
    },
  };
}

/** People wait for these. While Kafka is known to be away they need not wait for long. */
function asking(useKafka: ConsoleReaderOptions["useKafka"], isAway: () => boolean) {
  return async <Result>(
    work: (kafka: Kafka) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const limitMs = isAway() ? AWAY_LIMIT_MS : ANSWER_LIMIT_MS;
    try {
      return await inTime(useKafka(work), signal, limitMs);
    } catch (error) {
      throw new Error(`Kafka cannot be read: ${asError(error).message}`, { cause: error });
    }
  };
}
