/**
 * Converts a configuration to a form in which settings have the same names as in the file. Hashes and comparisons use
 * this form. It contains secrets.
 *
 *   in the program                         in this form
 *   timeoutMs                              timeout
 *   lists of entries with an ID            maps by ID, because their order has no meaning
 *   kind of a destination                  type
 *   headers as pairs                       a map
 *   key of an endpoint                     nothing: it follows from the URL
 *   urls, authentication of the registry   url; username and password, token or oauth
 */

import { nodesIn } from "../base/settings/setting.ts";
import type { Destination } from "../domain/destination.ts";
import { isJsonObject } from "../domain/json.ts";
import { typeOf } from "../router/destinations/index.ts";
import type { Config } from "./config.ts";
import { SETTINGS } from "./settings.ts";

export type PlainMap = Readonly<Record<string, unknown>>;

/** Settings whose name in the program ends with a unit, such as `timeoutMs` for `timeout`. */
const NAMES: ReadonlyMap<string, string> = new Map(
  [...nodesIn(SETTINGS)].flatMap(({ node, path }) => {
    const unit = node.kind === "setting" ? node.decoder.unit : "";
    const key = path.at(-1) ?? "";
    return unit === "" ? [] : [[`${key}${unit}`, key] as const];
  }),
);

/** Returns all settings except `include` and the lists of sources, destinations and audiences. */
export function plainRest(config: Config): PlainMap {
  const { include: _i, sources: _s, destinations: _d, audiences: _a, registry, ...rest } = config;
  return { ...named(rest), registry: registry === null ? null : plainRegistry(registry) };
}

function plainRegistry({ urls, authentication, tls }: NonNullable<Config["registry"]>): PlainMap {
  if (authentication === null) return { url: urls, tls };
  const { kind, ...credentials } = authentication;
  return { url: urls, tls, ...(kind === "oauth" ? { oauth: credentials } : credentials) };
}

export function plainSources(config: Config): ReadonlyMap<string, PlainMap> {
  return new Map(config.sources.map(({ id, ...rest }) => [id, named(rest)]));
}

export function plainAudiences(config: Config): ReadonlyMap<string, PlainMap> {
  return new Map(config.audiences.map(({ id, ...rest }) => [id, named(rest)]));
}

export function plainDestinations({
  destinations,
}: Pick<Config, "destinations">): ReadonlyMap<string, PlainMap> {
  return new Map(destinations.map((destination) => [destination.id, plain(destination)]));
}

function plain(destination: Destination): PlainMap {
  const all: PlainMap = { ...typeOf(destination).plain(destination) };
  const { id: _i, kind, isAttempted: _a, getsDeletions: _g, ...rest } = all;
  return { type: kind, ...rest };
}

function named(values: object): PlainMap {
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const isSection = isJsonObject(value) && Object.getPrototypeOf(value) === Object.prototype;
      return [NAMES.get(key) ?? key, isSection ? named(value) : value];
    }),
  );
}

/** Returns JSON in which the keys of maps are sorted. Absent values are null. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, inner: unknown) => {
    if (!isJsonObject(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
