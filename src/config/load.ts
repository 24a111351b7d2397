/** Reads the configuration file and the files that it names. No other file of this folder reads files. */

import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { FileBytes } from "../base/settings/config-path.ts";
import {
  fileProblem,
  type LocatedProblem,
  PROBLEMS_MAX,
  problemSentence,
  whyUnreadable,
} from "../base/settings/problem.ts";
import { listFromText } from "../base/settings/scalars.ts";
import type { Config } from "./config.ts";
import { variableName } from "./environment.ts";
import { configHash } from "./hash.ts";
import { type Included, included, writtenAt } from "./include.ts";
import type { Environment } from "./interpolate.ts";
import { type Given, parseConfig } from "./parse.ts";
import { readYaml } from "./yaml.ts";

export type Loaded = {
  /**
   * Absolute paths of the configuration file and of the files that it names, without duplicates. Files that cannot be
   * read are included, because a change of any of these files may change the configuration.
   */
  readonly files: readonly string[];
} & (
  | {
      readonly kind: "config";
      readonly config: Config;
      /**
       * The hash of the configuration: 12 hex digits that can be compared between processes
       * (docs/change-configuration.md#what-applies-without-a-restart). Empty if there are problems that are not needed.
       */
      readonly hash: string;
      /** For `config print`. */
      readonly given: Given;
      /** Sentences about values that are valid, but are most likely mistakes. */
      readonly warnings: readonly string[];
      /** Sentences about settings that somebody set on purpose and may have forgotten. `config check` prints them. */
      readonly reminders: readonly string[];
    }
  /** All problems that were found, at least one. */
  | { readonly kind: "invalid"; readonly problems: readonly LocatedProblem[] }
);

export interface LoadOptions {
  /** Path of the YAML file. */
  readonly file: string;
  /** The environment at process start. */
  readonly env: Environment;
  /** If set, used instead of the file's content. Relative paths are still relative to the file's folder. */
  readonly content?: Buffer;
  /** If `kafka`, problems with settings that commands on Kafka do not need are warnings (`parse.ts`). */
  readonly needs?: "all" | "kafka";
}

/** Does not throw if the configuration is invalid, or if files cannot be read. */
export function loadConfig({ file, env, content, needs }: LoadOptions): Loaded {
  const files = new Set([resolve(file)]);
  const invalid = (found: readonly LocatedProblem[], count = found.length): Loaded => {
    const problems = found.slice(0, PROBLEMS_MAX);
    if (count > PROBLEMS_MAX) {
      const expected = `at most ${PROBLEMS_MAX} problems`;
      const hint = "repair the others first";
      problems.push(fileProblem(`${count - PROBLEMS_MAX} other problems`, expected, { hint }));
    }
    return { kind: "invalid", problems, files: [...files] };
  };
  const source: FileBytes = content ? { kind: "bytes", bytes: content } : readBytes(file);
  if (source.kind === "unreadable") {
    const expected = "a configuration file that can be read";
    const found = `${file}, which cannot be read: ${source.why}`;
    return invalid([fileProblem(found, expected)]);
  }
  // The file is not decoded, because decoding would change any secret that contains such bytes.
  if (!isUtf8(source.bytes)) return invalid([notUtf8(source.bytes)]);
  const yaml = readYaml(source.bytes.toString());
  if (yaml.kind === "invalid") return invalid(yaml.problems);
  const folder = dirname(resolve(file));
  const read = (path: string): FileBytes => {
    const named = resolve(folder, path);
    files.add(named);
    return readBytes(named);
  };
  const variable = env[variableName(["include"])];
  const override = variable === undefined ? null : listFromText(variable);
  const { tree, problems, folders, entries } = included(yaml.tree, resolve(file), override, read);
  for (const each of folders) files.add(each);
  const parsed = parseConfig(tree, env, read, needs);
  const wrong = parsed.kind === "invalid" ? parsed.problems : parsed.ignored;
  // Finding the line of a problem takes time in proportion to the size of the file.
  const located = wrong.slice(0, PROBLEMS_MAX).map((problem) => {
    const own = { file: null, path: problem.path, line: yaml.lineOf(problem.path) };
    return { ...problem, ...(writtenAt(problem.path, entries) ?? own) };
  });
  const all = [...problems, ...located].toSorted(byPlace);
  if (parsed.kind === "invalid" || (all.length > 0 && needs !== "kafka")) {
    return invalid(all, problems.length + wrong.length);
  }
  const { given } = parsed;
  const { audience } = parsed.config;
  const stateDir = resolve(folder, audience.stateDir);
  const config = { ...parsed.config, audience: { ...audience, stateDir } };
  const warnings = parsed.warnings.map((text) => withFile(text, entries));
  const reminders = parsed.reminders.map((text) => withFile(text, entries));
  const isWhole = all.length === 0;
  return {
    ...parsed,
    config,
    warnings: isWhole ? warnings : [ignoredText(all)],
    reminders,
    given: { ...given, entries },
    files: [...files],
    hash: isWhole ? configHash(config) : "",
  };
}

function ignoredText(problems: readonly LocatedProblem[]): string {
  const [first] = problems;
  const more = problems.length > 1 ? ` and ${problems.length - 1} more` : "";
  const what = first === undefined ? "" : problemSentence(first);
  return (
    `the configuration is invalid, but this command does not need the settings in question: ${what}${more}. ` +
    "See `switchyard config check`"
  );
}

/** Orders problems: those of the configuration file first, and those of each file from top to bottom. */
function byPlace(one: LocatedProblem, other: LocatedProblem): number {
  if (one.file !== other.file) return (one.file ?? "") < (other.file ?? "") ? -1 : 1;
  return (one.line ?? 0) - (other.line ?? 0);
}

/** If a sentence starts with the path of an entry, adds the name of the file that contains the entry. */
function withFile(text: string, entries: Included["entries"]): string {
  const [, list, index] = /^(\w+)\[(\d+)\]/.exec(text) ?? [];
  const entry = entries.get(`${list}[${index}]`);
  if (entry === undefined) return text;
  return `${entry.file}: ${list}[${entry.index}]${text.slice(`${list}[${index}]`.length)}`;
}

function notUtf8(bytes: Buffer): LocatedProblem {
  const decoded = Buffer.from(bytes.toString());
  const at = decoded.findIndex((byte, index) => byte !== bytes[index]);
  const line = bytes.subarray(0, at).toString("latin1").split("\n").length;
  const hint = "save the file as UTF-8";
  return fileProblem("bytes that are not UTF-8", "text in UTF-8", { hint, line });
}

/** A configuration file is never this large. A larger one is not read. */
const FILE_BYTES_MAX = 64 * 1_048_576;

function readBytes(path: string): FileBytes {
  try {
    const { size } = statSync(path);
    if (size > FILE_BYTES_MAX) return { kind: "unreadable", why: "it is larger than 64 MiB" };
    return { kind: "bytes", bytes: readFileSync(path) };
  } catch (error) {
    return { kind: "unreadable", why: whyUnreadable(error) };
  }
}
