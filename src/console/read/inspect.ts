/**
 * Reads a submitted file as the configuration would be read, in a worker thread, so that no content can block the
 * process. One submitted file is read at a time.
 *
 *   the file                                         result
 *   has rules with references that the current       rejected, because counts of matching calls would reveal,
 *     configuration does not have in its rules       guess by guess, what a variable or a file contains
 *   is invalid                                       rejected, with at most 100 problems
 *   takes longer than 60 s, or more than 512 MB      an error: the worker is stopped
 *   otherwise                                        its configuration, and what reloading it would change
 */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

import type { Config } from "../../config/config.ts";
import type { Load } from "../../config/load.ts";
import type { Given } from "../../config/parse.ts";
import { readYaml, type Yaml } from "../../config/yaml.ts";
import { isJsonObject } from "../../domain/json.ts";
import { asError } from "../../runtime/as-error.ts";
import { inTurn } from "../../runtime/in-turn.ts";
import { type LocatedProblem, type Path, pathText } from "../../settings/problem.ts";
import type { ChangesView, ProblemsView } from "../query-view.ts";
import { changesView, hiding, knownForms, problemsView } from "./changes.ts";

const RULES = ["consent", "filters", "map"] as const;
const LIMIT_MS = 60_000;
const WAITING_MAX = 4;
const MEMORY = { maxOldGenerationSizeMb: 512 };

export type Inspected =
  | ProblemsView
  | {
      readonly kind: "usable";
      readonly config: Config;
      readonly changes: ChangesView;
      /** The starts of values that must not be shown. */
      readonly hidden: readonly string[];
    };

/** @param inPlace the current configuration. @throws Error with a sentence. */
export type Inspect = (content: Uint8Array, inPlace: Config) => Promise<Inspected>;

export function inspected(load: Load, bytes: Uint8Array, inPlace: Config): Inspected {
  const content = Buffer.from(bytes);
  const inUse = load();
  const yaml = readYaml(content.toString(), { isForeign: true });
  const foreign = foreignReferences(yaml, inUse.kind === "config" ? inUse.given : null);
  if (foreign !== null) return foreign;
  const given = load({ content, yaml, only: inUse.files });
  const hidden = knownForms(given.taken, content.toString());
  const hide = hiding(hidden);
  if (given.kind === "invalid") return problemsView("unusable", given.problems, hide);
  return {
    kind: "usable",
    config: given.config,
    changes: changesView(inPlace, given, hide),
    hidden,
  };
}

/** @param file the configuration file. The worker gets a copy of the environment of the process. */
export function inspectIn(file: string): Inspect {
  const turn = inTurn();
  let waiting = 0;
  return (content, inPlace) => {
    if (waiting >= WAITING_MAX) throw new Error("Other files are being read. Try again.");
    waiting += 1;
    return turn(async () => {
      const worker = new Worker(new URL("./inspect-worker.ts", import.meta.url), {
        workerData: [file, content, inPlace],
        resourceLimits: MEMORY,
      });
      try {
        const [found] = await once(worker, "message", { signal: AbortSignal.timeout(LIMIT_MS) });
        return found as Inspected;
      } catch (error) {
        const { name, message } = asError(error);
        const why = name === "AbortError" ? `it takes longer than ${LIMIT_MS / 1_000} s` : message;
        throw new Error(`This file cannot be read: ${why}`, { cause: error });
      } finally {
        waiting -= 1;
        await worker.terminate();
      }
    });
  };
}

/**
 * Finds references to variables or files that are in the submitted rules, but not in the rules of the current
 * configuration. References in the secret of a hash do not count. Null if there are no such references.
 *
 * @param current null if the current file is invalid.
 */
function foreignReferences(yaml: Yaml, current: Given | null): ProblemsView | null {
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
