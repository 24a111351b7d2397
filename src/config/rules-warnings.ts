/**
 * Warnings about rules that are valid, but most likely withhold something that a destination should get, or protect
 * less than they seem to (docs/rules.md).
 *
 *   a destination of an audience's source               warning
 *   has an allow list of traits without the audience's  members cannot be told apart from others
 *   requires consent that the audience's calls lack     it gets none of the audience's calls
 *
 *   a destination                                       warning
 *   removes user IDs, and there is neither a write key  the keys of its records can be guessed
 *     nor a secret for hashes
 */

import type { Destination } from "../domain/destination.ts";
import { hasConsent } from "../router/rules/consent.ts";
import type { Config } from "./config.ts";

type Audience = Config["audiences"][number];

export function rulesWarnings(config: Config): readonly string[] {
  return config.destinations.flatMap((destination, index) => {
    const path = `destinations[${index}]`;
    const audiences = config.audiences.filter((audience) => reaches(config, audience, destination));
    return [
      ...audiences.flatMap((audience) => silenced(config, audience, destination)),
      ...audiences.flatMap((audience) => omitted(config, audience, destination)),
      ...guessableKeys(config, destination),
    ].map((text) => `${path}: ${text}`);
  });
}

function sourceOf({ audienceDefaults, defaultSource }: Config, { source }: Audience) {
  return source ?? audienceDefaults.source ?? defaultSource;
}

function reaches(config: Config, audience: Audience, { id }: Destination): boolean {
  const source = sourceOf(config, audience);
  return config.sources.some((each) => each.id === source && each.destinations.includes(id));
}

function silenced(config: Config, audience: Audience, { consent }: Destination): readonly string[] {
  if (!consent) return [];
  const given = audience.consent ?? config.audienceDefaults.consent ?? null;
  const context = given === null ? null : { consent: { categoryPreferences: given } };
  if (hasConsent(consent, context)) return [];
  return [
    `it gets no calls from the audience ${audience.id}, whose consent does not grant the ` +
      `categories that the destination requires`,
  ];
}

function omitted(
  config: Config,
  audience: Audience,
  { filters = [] }: Destination,
): readonly string[] {
  const source = sourceOf(config, audience);
  // If no key is configured, the trait is the audience's name in snake_case. Only a sync contains that name.
  const trait = audience.key ?? (/^[a-z\d_]+$/.test(audience.id) ? audience.id : null);
  if (trait === null) return [];
  return filters.flatMap(({ enabled, name, sources, allowProperties }) => {
    const isFor = enabled && (sources === null || sources.some((each) => each === source));
    const omits = allowProperties.some(
      ({ path, names }) => path === "traits" && !names.includes(trait),
    );
    if (!isFor || !omits) return [];
    const list = `the allow list of the filter ${JSON.stringify(name)}`;
    return [`${list} omits ${trait}, the trait of the audience ${audience.id}`];
  });
}

function guessableKeys(
  { sources }: Config,
  { filters = [], map = [] }: Destination,
): readonly string[] {
  const isTaken =
    filters.some(({ dropProperties }) =>
      dropProperties.some(({ path, names }) => path === "" && names.includes("userId")),
    ) ||
    map.some(
      (rule) =>
        (rule.action === "remove" && rule.path === "userId") ||
        (rule.action === "move" && rule.from === "userId"),
    );
  const isSecret =
    sources.some(({ writeKeys }) => writeKeys.length > 0) ||
    map.some((rule) => rule.action === "hash" && rule.secret !== null);
  if (!isTaken || isSecret) return [];
  return [
    "its rules remove user IDs, and no source has a write key: anyone who can read its topic can find the user IDs behind the record keys by hashing likely IDs",
  ];
}
