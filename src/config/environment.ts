/**
 * Reads settings from the environment. Each setting that is not in a list has a variable: `SWITCHYARD_`, followed by
 * the setting's path in upper snake case. A variable overrides the file. One newline at the end of a variable is
 * removed; an empty variable counts as not set.
 */

import type { ValueOrigin } from "../base/settings/config-path.ts";
import type { Unit } from "../base/settings/decoder.ts";
import { pathText } from "../base/settings/problem.ts";
import { flagFromText } from "../base/settings/scalars.ts";
import { type Node, nodesIn, type Setting } from "../base/settings/setting.ts";
import { isJsonObject } from "../domain/json.ts";
import type { Environment } from "./interpolate.ts";
import { withoutNewline } from "./secret-file.ts";

const PREFIX = "SWITCHYARD_";

/** Variables that are not settings, but are used by commands, the client library, the local Kafka or the tests. */
const OTHER_VARIABLES: ReadonlySet<string> = new Set([
  "SWITCHYARD_CONFIG",
  "SWITCHYARD_ENDPOINT",
  "SWITCHYARD_FUZZ_REQUESTS",
  "SWITCHYARD_GENERATED_INPUTS",
  "SWITCHYARD_KAFKA_JARS",
  "SWITCHYARD_TEST_LAUNCHER",
]);

interface Variable {
  readonly name: string;
  readonly path: readonly string[];
  /** Null for a section that may be set to `true` or `false`. */
  readonly setting: Setting<unknown, Unit> | null;
}

/** Returns the name of a setting's variable, such as `SWITCHYARD_KAFKA_TOPIC_PREFIX` for `kafka.topicPrefix`. */
export function variableName(path: readonly string[]): string {
  const words = path.map((key) => key.replace(/[A-Z]/g, (capital) => `_${capital}`).toUpperCase());
  return `${PREFIX}${words.join("_")}`;
}

/** Returns the variables of all settings below a node that are not in a list. Those of outer nodes come first. */
export function variables(root: Node): readonly Variable[] {
  return [...nodesIn(root)].flatMap(({ node, path }): Variable[] => {
    if (path.includes("*") || node.kind === "list") return [];
    if (node.kind === "setting") return [{ name: variableName(path), path, setting: node }];
    if (node.kind === "section" && !node.takesFlag) return [];
    const own = node.kind === "section" ? path : [...path, node.tag];
    return [{ name: variableName(own), path: own, setting: null }];
  });
}

/** Sets the values of variables in the tree of the file. */
export function override(tree: unknown, known: readonly Variable[], env: Environment) {
  const origins = new Map<string, ValueOrigin>();
  const flags = new Set(
    known.filter(({ setting }) => setting === null).map(({ path }) => pathText(path)),
  );
  let result = tree;
  for (const { name, path, setting } of known) {
    const given = withoutNewline(env[name]);
    if (given === undefined || given === "") continue;
    // The decoder of a setting reads the string; the flag of a section has no decoder, so it is converted here.
    const raw = setting === null ? flagFromText(given) : given;
    result = put(result, path, raw, flags);
    origins.set(pathText(path), { kind: "environment", name });
  }
  return { tree: result, origins };
}

/**
 * @param flags paths of sections that may be `true` or `false` as well as maps.
 */
function put(
  tree: unknown,
  path: readonly string[],
  raw: unknown,
  flags: ReadonlySet<string>,
  depth = 0,
): unknown {
  const key = path[depth];
  if (key === undefined) return raw;
  const isFlag = typeof tree === "boolean" && flags.has(pathText(path.slice(0, depth)));
  const map = isFlag ? {} : (tree ?? {});
  // The value stays unchanged, so that the decoder rejects it and nothing in the file is ignored silently.
  if (!isJsonObject(map)) return tree;
  const inner = Object.hasOwn(map, key) ? map[key] : undefined;
  return { ...map, [key]: put(inner, path, raw, flags, depth + 1) };
}

/** Returns one sentence for each variable that looks like a setting but is not one. */
export function unknownVariables(known: readonly Variable[], env: Environment): readonly string[] {
  const names = new Set(known.map(({ name }) => name));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !names.has(name) && !OTHER_VARIABLES.has(name))
    .map((name) => `the environment variable ${name} is ignored, because there is no such setting`);
}
