/** The eyes of the page: Kafka, and the admin ports of the processes. */

import type { Config } from "../../config/config.ts";
import type { Load } from "../../config/load.ts";
import { printConfig } from "../../config/print.ts";
import type { Eyes } from "../../console/ports.ts";
import type { Kafka } from "../../kafka/port.ts";
import { readClaims } from "../audience/audiences.ts";
import { configuredTopics } from "../connection.ts";
import { knownEndpoints } from "../dead-letters/rows.ts";
import { inTime } from "../status/keep-connected.ts";
import type { Look } from "../status/rates.ts";
import { readKafka, reportOf, settled } from "../status/show.ts";
import { readAttempts } from "./attempts.ts";
import { AudienceHistory } from "./audience-history.ts";
import { readCallView } from "./call.ts";
import { changesView, hiding } from "./changes.ts";
import { readLettersView } from "./letters.ts";
import { askAll, countersOf } from "./scrape.ts";
import { seenOf } from "./seen.ts";
import { readUserCalls } from "./user-calls.ts";

export interface EyesOptions {
  /** The configuration by now, and its hash. */
  readonly current: () => { readonly config: Config; readonly hash: string };
  /** Reads the file again, or what somebody gives in its place. */
  readonly load: Load;
  /** Admin ports: `host:port`. */
  readonly admins: readonly string[];
  /** Does some work with a connection to Kafka. @throws Error when there is none. */
  readonly useKafka: <Result>(work: (kafka: Kafka) => Promise<Result>) => Promise<Result>;
}

export function createEyes({ current, load, admins, useKafka }: EyesOptions): Eyes {
  let looks: ReadonlyMap<string, Look> = new Map();
  return {
    look: async (signal) => {
      const { config, hash } = current();
      const options = { config, hash, admins, overMs: 0, json: true, failing: false };
      const shown = { ...options, destination: null };
      const read = useKafka((kafka) => readKafka(kafka, shown, signal));
      const [asked, found] = await Promise.all([
        askAll(admins, looks, signal),
        settled(inTime(read, signal)),
      ]);
      looks = asked.looks;
      const report = reportOf(shown, asked.scraped, found);
      return { seen: seenOf(report, config), counters: asked.counters };
    },
    sample: (signal) => countersOf(admins, signal),
    sourcesOf: (destination) =>
      current()
        .config.sources.filter(({ destinations }) => destinations.some((id) => id === destination))
        .map(({ id }) => id),
    letters: (query, signal) => {
      const { config } = current();
      const source = {
        topics: configuredTopics(config),
        known: knownEndpoints(config.destinations),
        payloads: config.console.payloads,
        nowMs: Date.now(),
        signal,
      };
      return useKafka((kafka) => readLettersView({ ...source, kafka }, query));
    },
    audiences: async (signal) => {
      const topics = configuredTopics(current().config);
      const past = new AudienceHistory();
      const take = past.take.bind(past);
      const claims = await useKafka((kafka) => readClaims(kafka, topics, signal, take));
      const nowMs = Date.now();
      return claims.all().map(({ id, name, key, members, openSyncId, last, held }) => ({
        id,
        name,
        key,
        members,
        openSyncId,
        last: last && { syncId: last.syncId, endedAt: instant(last.endedAtMs) },
        held: held && {
          syncId: held.syncId,
          heldAt: instant(held.heldAtMs),
          removals: held.removals,
        },
        syncs: past.syncs(id),
        history: past.members(id, nowMs),
      }));
    },
    call: (query, signal) => {
      const { config } = current();
      return useKafka((kafka) => readCallView({ kafka, config, signal }, query));
    },
    userCalls: (query, signal) => {
      const { config } = current();
      return useKafka((kafka) => readUserCalls({ kafka, config, signal }, query));
    },
    attempts: (destination, signal) => {
      const { config } = current();
      return useKafka((kafka) => readAttempts({ kafka, config, signal }, destination));
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

function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}
