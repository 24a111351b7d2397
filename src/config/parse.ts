/**
 * Turns the parsed YAML and the environment into the configuration, or into a list of all problems.
 *
 *   1  fill in variables and files  `${NAME}` and `${file:/path}` inside strings
 *   2  override from the environment `SWITCHYARD_...`
 *   3  decode each setting          types, ranges, unknown keys
 *   4  check across settings        unique IDs, references
 *
 * Commands on Kafka need only the section `kafka` and the IDs of destinations (`needs: "kafka"`):
 *
 *   a problem with                      then
 *   `kafka`, or the whole file          the configuration is invalid
 *   a destination                       only the settings that these commands use are read, or, if one of them has
 *                                       the problem, the destination is omitted
 *   any other section                   the setting is ignored, or, if that does not help, the section
 */

import {
  INVALID,
  type PlaceContext,
  placeAt,
  type ReadFile,
  shownAsWritten,
  takesFile,
  type ValueOrigin,
} from "../base/settings/config-path.ts";
import { describe, HIDDEN, type Path, type Problem, pathText } from "../base/settings/problem.ts";
import { isJsonObject } from "../domain/json.ts";
import { typeOf } from "../router/destinations/index.ts";
import { withConsent } from "../router/rules/settings/rules-settings.ts";
import type { Config } from "./config.ts";
import { problemsAcross } from "./cross-checks.ts";
import { override, unknownVariables, variables } from "./environment.ts";
import { type Environment, fill } from "./interpolate.ts";
import { rulesWarnings } from "./rules-warnings.ts";
import { SETTINGS } from "./settings.ts";

/** The settings of the file with their origins, for `config print`. */
export interface Given {
  readonly tree: unknown;
  readonly origins: ReadonlyMap<string, ValueOrigin>;
  /** The included file that contains an entry, by the entry's path, such as `destinations[5]`. */
  readonly entries?: ReadonlyMap<string, { readonly file: string }>;
}

export type Parsed =
  | {
      readonly kind: "config";
      readonly config: Config;
      readonly given: Given;
      readonly warnings: readonly string[];
      readonly reminders: readonly string[];
      /** Problems with settings that are not needed. */
      readonly ignored: readonly Problem[];
    }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** The settings of a destination that commands on Kafka use, in addition to its endpoints. */
const USED_ON_KAFKA = ["id", "type", "enabled", "paused", "order", "onDeadLetter"];

/** The setting, then its section, then what refers to that section. */
const CUTS_MAX = 4;

/** @param readFile reads a file that a setting or a `${file:/path}` names. */
export function parseConfig(
  raw: unknown,
  env: Environment,
  readFile: ReadFile,
  needs: "all" | "kafka" = "all",
): Parsed {
  const known = variables(SETTINGS);
  const filled = fill(raw, env, readFile);
  const overridden = override(filled.tree ?? {}, known, env);
  let { tree } = overridden;
  const origins = new Map([...filled.origins, ...overridden.origins]);
  // If the environment overrides a setting, the variables in the file's value are not needed.
  const missing = filled.problems.filter(({ path }) => !isWithin(overridden.origins, path));
  let found = decodeTree(tree, missing, { origins, readFile });
  const ignored = found.problems;
  for (let cuts = 0; needs === "kafka" && cuts < CUTS_MAX; cuts += 1) {
    if (found.problems.length === 0 || found.problems.some(isNeeded)) break;
    tree = without(tree, found.problems, cuts > 0);
    found = decodeTree(tree, [], { origins, readFile });
  }
  const { decoded, problems, doubtful } = found;
  if (decoded === null || problems.length > 0) return { kind: "invalid", problems };
  const config = {
    ...decoded,
    destinations: withConsent(decoded.destinations, decoded.consent.required),
  };
  const warnings = [
    ...unknownVariables(known, env),
    ...doubtful,
    ...questionable(config),
    ...rulesWarnings(config),
  ];
  return {
    kind: "config",
    config,
    given: { tree, origins },
    warnings,
    reminders: missed(config),
    ignored,
  };
}

/** @param missing problems with variables and files. */
function decodeTree(
  tree: unknown,
  missing: readonly Problem[],
  { origins, readFile }: Pick<PlaceContext, "origins" | "readFile">,
) {
  // If a missing variable is reported, the wrong types that result from it, in its value and in the map around the
  // value, are not reported.
  const lacking = new Set(missing.map(({ path }) => pathText(path)));
  const found: Problem[] = [];
  const doubtful: string[] = [];
  const context: PlaceContext = { problems: found, warnings: doubtful, origins, readFile };
  const decoded = SETTINGS.decode(tree, placeAt(context, []));
  const across = problemsAcross(tree).map((problem) => asWritten(problem, origins));
  const others = [...found, ...across].filter(({ path }) => !isWithin(lacking, path));
  return {
    decoded: decoded === INVALID ? null : decoded,
    doubtful,
    problems: [...missing, ...others],
  };
}

function isNeeded({ path: [first = "kafka"] }: Problem): boolean {
  return first === "kafka";
}

/** Returns a copy of the tree without what has a problem. */
function without(tree: unknown, problems: readonly Problem[], isAgain: boolean): unknown {
  if (!isJsonObject(tree)) return tree;
  const rest: Record<string, unknown> = { ...tree };
  for (const { path } of problems) {
    const [name = "", key = ""] = path.map(String);
    const section = rest[name];
    if (name === "destinations" && Array.isArray(section)) {
      const reduced = isAgain ? null : reducedDestination(section[Number(key)]);
      rest[name] = section.with(Number(key), reduced);
    } else if (isJsonObject(section) && !isAgain) {
      const { [key]: _, ...others } = section;
      rest[name] = others;
    } else {
      delete rest[name];
    }
  }
  const { destinations } = rest;
  if (!Array.isArray(destinations)) return rest;
  return { ...rest, destinations: destinations.filter((each) => each !== null) };
}

/** The endpoints keep their IDs and positions, because dead letters refer to them. */
function reducedDestination(given: unknown): unknown {
  if (!isJsonObject(given)) return null;
  const { id, endpoints } = given;
  const used = Object.entries(given).filter(([key]) => USED_ON_KAFKA.includes(key));
  const reduced = { ...Object.fromEntries(used), name: id };
  if (endpoints === undefined) return reduced;
  const known: readonly unknown[] = Array.isArray(endpoints) ? endpoints : [null];
  const unknown = known.map((each, at) => {
    return { id: isJsonObject(each) ? each.id : null, url: `https://unknown.invalid/${at}` };
  });
  return { ...reduced, endpoints: unknown };
}

/** Describes a problem that is about several settings. Values are quoted, but never the content of a file. */
function asWritten(problem: Problem, origins: Given["origins"]): Problem {
  const outer = problem.path.map((_, index) => problem.path.slice(0, index + 1));
  const origin = outer.map((path) => origins.get(pathText(path))).find(takesFile);
  if (origin?.kind !== "filled") return problem;
  return { ...problem, found: describe(shownAsWritten(origin.written, () => HIDDEN)) };
}

/** Returns true if one of these paths is the given path, or contains it. */
function isWithin(texts: { readonly has: (text: string) => boolean }, path: Path): boolean {
  const outer = path.map((_, length) => path.slice(0, length));
  return [...outer, path].some((around) => texts.has(pathText(around)));
}

/** Returns warnings about settings that are valid, but are most likely mistakes. */
function questionable(config: Config): readonly string[] {
  const connected = new Set(config.sources.flatMap(({ destinations }) => destinations));
  const warnings = config.destinations.flatMap((destination, index) => {
    const path = `destinations[${index}]`;
    const { id } = destination;
    const found = [];
    if (!connected.has(id)) found.push(`${path}: no source names ${id}, so it gets no calls`);
    for (const warning of typeOf(destination).warnings(destination))
      found.push(`${path}: ${warning}`);
    return found;
  });
  const { sasl, tls } = config.kafka;
  if (sasl?.mechanism === "plain" && tls === null) {
    warnings.push("kafka.sasl: without kafka.tls the password crosses the network in plain text");
  }
  const { registry } = config;
  if (registry !== null && registry.authentication !== null && registry.urls.some(isPlain)) {
    warnings.push("registry.url: over http the credentials cross the network in plain text");
  }
  if (sasl?.mechanism === "aws-msk-iam" && tls === null) {
    warnings.push("kafka.sasl: Amazon MSK accepts aws-msk-iam only over TLS; set kafka.tls");
  }
  return warnings;
}

/** Returns reminders about disabled destinations, which miss calls permanently. */
function missed({ sources, destinations }: Config): readonly string[] {
  const connected = new Set(sources.flatMap((source) => source.destinations));
  return destinations.flatMap((destination, index) =>
    destination.enabled || !connected.has(destination.id)
      ? []
      : [
          `destinations[${index}]: ${destination.id} is disabled: ${typeOf(destination).whenDisabled}`,
        ],
  );
}

function isPlain(url: string): boolean {
  return new URL(url).protocol === "http:";
}
