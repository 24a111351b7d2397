/**
 * Finds the difference between two configurations, and the part of it that a running process applies.
 *
 *   setting                        a change applies
 *   sources, destinations,         at once, separately for each entry
 *     audiences
 *   consent.required               at once
 *   delivery.ca                    to the next connection
 *   delivery.proxy, proxyCa        to the next request; connections through the old proxy are closed
 *   ingest.tls                     to the next connection, if TLS stays on
 *   kafka.tls                      to the next connection, if TLS stays on
 *   kafka.sasl                     to the next connection, if the mechanism stays the same
 *   registry                       to the next request, if both configurations have a registry
 *   ingest.tls, kafka.tls or       after a restart: the protocol of a port or cluster changes
 *     kafka.sasl on or off
 *   any other                      after a restart
 *
 * Changed settings are identified by their paths, without values, because many values are secret.
 */

import { isDeepStrictEqual } from "node:util";
import { type Path, pathText } from "../base/settings/problem.ts";
import { isJsonObject } from "../domain/json.ts";
import type { Config } from "./config.ts";
import {
  canonicalText,
  type PlainMap,
  plainAudiences,
  plainDestinations,
  plainRest,
  plainSources,
} from "./plain-form.ts";

/**
 * Changes of one list. Added and changed entries are in the order of the new list, removed entries in the order of the
 * old list.
 */
export interface ListChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly {
    readonly id: string;
    /** Paths inside the entry, such as `endpoints[0].url`. At least one. */
    readonly settings: readonly string[];
  }[];
}

export interface Changes {
  readonly destinations: ListChanges;
  readonly sources: ListChanges;
  readonly audiences: ListChanges;
  /** Paths of changed settings outside the lists. A running process applies these changes. */
  readonly atOnce: readonly string[];
  /** Paths of settings whose changes apply after a restart. */
  readonly needsRestart: readonly string[];
}

/** Returns the paths of the settings outside the lists that differ between the two configurations. */
function liveSettings(before: Config, after: Config): ReadonlySet<string> {
  const { ingest, kafka } = before;
  const isSameMechanism = kafka.sasl?.mechanism === after.kafka.sasl?.mechanism;
  return new Set([
    "delivery.ca",
    "delivery.proxy",
    "delivery.proxyCa",
    "consent.required",
    ...(ingest.tls !== null && after.ingest.tls !== null ? ["ingest.tls"] : []),
    ...(kafka.tls !== null && after.kafka.tls !== null ? ["kafka.tls"] : []),
    ...(kafka.sasl !== null && isSameMechanism ? ["kafka.sasl"] : []),
    ...(before.registry !== null && after.registry !== null ? ["registry"] : []),
  ]);
}

export function changesOf(before: Config, after: Config): Changes {
  const live = liveSettings(before, after);
  const isLive = (path: Path) =>
    path.some((_, index) => live.has(pathText(path.slice(0, index + 1))));
  const rest = differences(plainRest(before), plainRest(after), []);
  const texts = (paths: readonly Path[]) => paths.map(pathText).toSorted();
  return {
    destinations: destinationChanges(before.destinations, after.destinations),
    sources: listChanges(plainSources(before), plainSources(after)),
    audiences: listChanges(plainAudiences(before), plainAudiences(after)),
    atOnce: texts(rest.filter(isLive)),
    needsRestart: texts(rest.filter((path) => !isLive(path))),
  };
}

export function isUnchanged(changes: Changes): boolean {
  const { destinations, sources, audiences, atOnce, needsRestart } = changes;
  const lists = [destinations, sources, audiences];
  const all = lists.flatMap(({ added, removed, changed }) => [...added, ...removed, ...changed]);
  return all.length + atOnce.length + needsRestart.length === 0;
}

/**
 * Returns `before` with all values from `after` that may change while the process runs. References are not checked
 * again: a `defaultSource` whose source was removed stays until the restart, and its calls become dead letters.
 * Equal destinations stay the same objects, so that later comparisons of 10,000 of them take no time.
 */
export function applied(before: Config, after: Config): Config {
  const live = liveSettings(before, after);
  const { sources, audiences } = after;
  const running = new Map(before.destinations.map((entry) => [entry.id, entry]));
  const destinations = after.destinations.map((entry) => {
    const same = running.get(entry.id);
    return same !== undefined && isDeepStrictEqual(same, entry) ? same : entry;
  });
  const { ca, proxy, proxyCa } = after.delivery;
  const from = (path: string) => (live.has(path) ? after : before);
  return {
    ...before,
    sources,
    destinations,
    audiences,
    consent: from("consent.required").consent,
    registry: from("registry").registry,
    delivery: { ...before.delivery, ca, proxy, proxyCa },
    ingest: { ...before.ingest, tls: from("ingest.tls").ingest.tls },
    kafka: {
      ...before.kafka,
      tls: from("kafka.tls").kafka.tls,
      sasl: from("kafka.sasl").kafka.sasl,
    },
  };
}

/** Converts only entries that differ, because the conversion of 10,000 destinations takes a second. */
function destinationChanges(
  before: Config["destinations"],
  after: Config["destinations"],
): ListChanges {
  const old = new Map<string, unknown>(before.map((entry) => [entry.id, entry]));
  const equal = new Set<string>();
  for (const entry of after) if (isDeepStrictEqual(old.get(entry.id), entry)) equal.add(entry.id);
  const plain = (all: Config["destinations"]) =>
    plainDestinations({ destinations: all.filter(({ id }) => !equal.has(id)) });
  return listChanges(plain(before), plain(after));
}

function listChanges(
  before: ReadonlyMap<string, PlainMap>,
  after: ReadonlyMap<string, PlainMap>,
): ListChanges {
  const changed = [...after].flatMap(([id, entry]) => {
    const old = before.get(id);
    if (old === undefined) return [];
    // If the type differs, only `type` is listed, because the other settings are not comparable.
    const paths = old.type === entry.type ? differences(old, entry, []) : [["type"]];
    return paths.length === 0 ? [] : [{ id, settings: paths.map(pathText) }];
  });
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed,
  };
}

/** Returns the innermost paths at which the values differ. */
function differences(before: unknown, after: unknown, path: Path): readonly Path[] {
  if (isJsonObject(before) && isJsonObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) =>
      differences(own(before, key), own(after, key), [...path, key]),
    );
  }
  if (isListOfMaps(before) && isListOfMaps(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, index) =>
      differences(before[index], after[index], [...path, index]),
    ).flat();
  }
  return canonicalText(before) === canonicalText(after) ? [] : [path];
}

function own(map: PlainMap, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

function isListOfMaps(value: unknown): value is readonly PlainMap[] {
  return Array.isArray(value) && value.length > 0 && value.every(isJsonObject);
}
