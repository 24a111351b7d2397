/**
 * Compares what another configuration would do with past calls, with the functions of `config diff --since`. Nothing
 * is applied. `inspect.ts` lists the files that are rejected.
 */

import { setImmediate as turn } from "node:timers/promises";

import type { Config } from "../../config/config.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { openCommandSchemas } from "../../operate/connect/command-schemas.ts";
import type { DestinationDifferences } from "../../operate/timeline/compare-routing.ts";
import { type Comparison, readComparison } from "../../operate/timeline/read-comparison.ts";
import type { ComparedCallsQuery, PreparedComparison } from "../ports.ts";
import type { ComparedCallsView } from "../query-view.ts";
import { type Hide, hiding } from "./changes.ts";
import type { Inspect } from "./inspect.ts";

const DESTINATIONS_MAX = 200;
const PROPERTIES_MAX = 20;
/** A path that is longer than this is cut. */
const PATH_MAX = 200;
/** The maximum time for which other work of the process has to wait. */
const TURN_MS = 10;

interface Source {
  readonly current: () => { readonly config: Config };
  readonly inspect: Inspect;
  readonly useKafka: <Result>(work: (kafka: Kafka) => Promise<Result>) => Promise<Result>;
  readonly openSchemas: typeof openCommandSchemas;
}

export async function prepareComparison(
  { current, inspect, useKafka, openSchemas }: Source,
  content: Buffer,
  { sinceMs, share }: ComparedCallsQuery,
): Promise<PreparedComparison> {
  const found = await inspect(content, current().config);
  if (found.kind !== "usable") return found;
  const { config: after } = found;
  const hide = hiding(found.hidden);
  return {
    kind: "prepared",
    compare: async (progress, signal) => {
      const { config } = current();
      let read = 0;
      progress.follow(() => `${read.toLocaleString("en")} records read`);
      const onRead = (records: number) => {
        read += records;
      };
      return await useKafka(async (kafka) => {
        await using schemas = await openSchemas(config.registry, signal);
        const ports = { kafka, schemas, nowMs: () => Date.now(), signal, onRead, pause: turns() };
        const query = { current: config, before: config, after, sinceMs, share };
        const found = await readComparison(ports, query);
        return found && comparedView(found, sinceMs, share, hide);
      });
    },
  };
}

/**
 * Lets other work run when a turn has taken a certain time. The number of calls in a turn is not fixed, because the
 * time per call depends on the rules.
 */
function turns(): () => Promise<void> | undefined {
  let startedMs = performance.now();
  return () => {
    if (performance.now() - startedMs < TURN_MS) return undefined;
    return turn().then(() => {
      startedMs = performance.now();
    });
  };
}

function comparedView(
  { destinations, calls, withoutSchema, unread }: Comparison,
  sinceMs: number,
  share: number,
  hide: Hide,
): ComparedCallsView {
  const shown = destinations.slice(0, DESTINATIONS_MAX);
  return {
    since: new Date(sinceMs).toISOString(),
    share,
    calls,
    withoutSchema,
    unread: unread.map(hide),
    destinations: shown.map((each) => differencesView(each, hide)),
    others: destinations.length - shown.length,
  };
}

function differencesView(
  { destination, gained, lost, changed }: DestinationDifferences,
  hide: Hide,
): ComparedCallsView["destinations"][number] {
  const properties = Object.entries(changed.properties)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, PROPERTIES_MAX)
    .map(([path, count]) => [hide(path.slice(0, PATH_MAX)), count] as const);
  return {
    destination: hide(destination),
    gained,
    lost,
    changed: { ...changed, properties },
  };
}
