/**
 * Compares what another configuration would do with past calls, with the functions of `config diff --since`. Nothing
 * is applied.
 *
 *   the file                                          result
 *   is invalid                                        its problems
 *   has rules with references that the current        these references, because counts of matching calls would reveal,
 *     configuration does not have in its rules          guess by guess, what a variable or a file contains
 *   otherwise                                         the comparison, which reads `calls` of the current configuration
 */

import { setImmediate as turn } from "node:timers/promises";

import type { Config } from "../../config/config.ts";
import type { Load } from "../../config/load.ts";
import type { Given } from "../../config/parse.ts";
import { readYaml } from "../../config/yaml.ts";
import { isJsonObject } from "../../domain/json.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { openCommandSchemas } from "../../operate/connect/command-schemas.ts";
import type { DestinationDifferences } from "../../operate/timeline/compare-routing.ts";
import { type Comparison, readComparison } from "../../operate/timeline/read-comparison.ts";
import { type LocatedProblem, type Path, pathText } from "../../settings/problem.ts";
import type { ComparedCallsQuery, PreparedComparison } from "../ports.ts";
import type { ComparedCallsView, ProblemsView } from "../query-view.ts";
import { type Hide, hiding, problemsView } from "./changes.ts";

const DESTINATIONS_MAX = 200;
const PROPERTIES_MAX = 20;
/** A path that is longer than this is cut. */
const PATH_MAX = 200;
/** The maximum time for which other work of the process has to wait. */
const TURN_MS = 10;
const RULES = ["consent", "filters", "map"] as const;

interface Source {
  readonly current: () => { readonly config: Config };
  readonly load: Load;
  readonly useKafka: <Result>(work: (kafka: Kafka) => Promise<Result>) => Promise<Result>;
  readonly openSchemas: typeof openCommandSchemas;
}

export function prepareComparison(
  { current, load, useKafka, openSchemas }: Source,
  content: Buffer,
  { sinceMs, share }: ComparedCallsQuery,
): PreparedComparison {
  const inUse = load();
  const foreign = foreignReferences(content, inUse.kind === "config" ? inUse.given : null);
  if (foreign !== null) return foreign;
  const given = load({ content, only: inUse.files });
  const hide = hiding(given.taken, content.toString());
  if (given.kind === "invalid") return problemsView("unusable", given.problems, hide);
  const { config: after } = given;
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

/**
 * Finds references to variables or files that are in the submitted rules, but not in the rules of the current
 * configuration. References in the secret of a hash do not count. Null if there are no such references.
 *
 * @param current null if the current file is invalid.
 */
export function foreignReferences(content: Buffer, current: Given | null): ProblemsView | null {
  const yaml = readYaml(content.toString());
  if (yaml.kind === "invalid") return null;
  const known = new Set(current === null ? [] : knownReferences(current));
  const problems: LocatedProblem[] = [];
  const walk = (node: unknown, path: Path): void => {
    if (Array.isArray(node)) for (const [at, each] of node.entries()) walk(each, [...path, at]);
    if (isJsonObject(node)) {
      for (const [key, each] of Object.entries(node)) walk(each, [...path, key]);
    }
    if (typeof node !== "string" || !node.replaceAll("$${", "").includes("${")) return;
    const key = nameOf(pathText(path));
    if (key === "secret" || known.has(`${key} ${node}`)) return;
    const found = "a reference to a variable or a file that the current rules do not have";
    const expected = "rules whose effect on calls cannot reveal the value of a reference";
    const hint = "use switchyard config diff";
    problems.push({ path, line: yaml.lineOf(path), file: null, found, expected, hint });
  };
  const { destinations } = isJsonObject(yaml.tree) ? yaml.tree : {};
  for (const [at, destination] of (Array.isArray(destinations) ? destinations : []).entries()) {
    if (!isJsonObject(destination)) continue;
    for (const key of RULES) walk(destination[key], ["destinations", at, key]);
  }
  return problems.length === 0 ? null : problemsView("references", problems, (text) => text);
}

/** Lists each reference in the rules, with its setting and its text. */
function knownReferences({ origins }: Given): readonly string[] {
  return [...origins].flatMap(([path, origin]) => {
    const isRule = /^destinations\[\d+\]\.(?:consent|filters|map)\b/.test(path);
    return isRule && origin.kind === "filled" ? [`${nameOf(path)} ${origin.written}`] : [];
  });
}

/** The name of the setting at a path. For example, it is `categories` for `destinations[0].consent.categories[1]`. */
function nameOf(path: string): string {
  return /([A-Za-z]\w*)(?:\[\d+\])*$/.exec(path)?.[1] ?? "";
}
