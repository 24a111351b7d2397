/** Reads the configuration file and the files it names. The only part of this folder that does. */

import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { FileBytes } from "../settings/config-path.ts";
import { type LocatedProblem, whyUnreadable } from "../settings/problem.ts";
import type { Config } from "./config.ts";
import { configHash } from "./hash.ts";
import type { Environment } from "./interpolate.ts";
import { type Given, parseConfig } from "./parse.ts";
import { readYaml } from "./yaml.ts";

export type Loaded = {
  /**
   * Absolute paths of the configuration file and of the files that it names, each once, also of
   * those that cannot be read: a change of any of them may change the configuration.
   */
  readonly files: readonly string[];
  /** Everything that the file takes from variables and files. Parts of it may be secret. */
  readonly taken: readonly string[];
} & (
  | {
      readonly kind: "config";
      readonly config: Config;
      /** The configuration in 12 hex digits, comparable between processes (docs/change-configuration.md#what-applies-without-a-restart). */
      readonly hash: string;
      /** For `config print`. */
      readonly given: Given;
      /** Sentences about what is allowed and most likely a mistake. */
      readonly warnings: readonly string[];
      /** Sentences about settings that are meant and easily forgotten. `config check` says them. */
      readonly reminders: readonly string[];
    }
  /** Every problem at once, at least one. */
  | { readonly kind: "invalid"; readonly problems: readonly LocatedProblem[] }
);

/** Reads the configuration again, or what somebody gives in place of its file. Never throws. */
export type Load = (given?: Pick<LoadOptions, "content" | "only">) => Loaded;

export interface LoadOptions {
  /** Path of the YAML file. */
  readonly file: string;
  /** The environment at process start. */
  readonly env: Environment;
  /** Taken in place of the content of the file. Relative paths start where the file lies. */
  readonly content?: Buffer;
  /** Absolute paths of the only files that the content may name. Its author may not read others. */
  readonly only?: readonly string[];
}

/** Never throws for a wrong configuration, nor for files that cannot be read. */
export function loadConfig({ file, env, content, only }: LoadOptions): Loaded {
  const files = new Set([resolve(file)]);
  const invalid = (problems: readonly LocatedProblem[], taken: readonly string[] = []): Loaded => {
    return { kind: "invalid", problems, files: [...files], taken };
  };
  const source: FileBytes = content ? { kind: "bytes", bytes: content } : readBytes(file);
  if (source.kind === "unreadable") {
    const expected = "a configuration file that can be read";
    const found = `${file}, which cannot be read: ${source.why}`;
    return invalid([{ path: [], found, expected, hint: null, line: null }]);
  }
  // Decoded all the same, a secret would become another one.
  if (!isUtf8(source.bytes)) return invalid([notUtf8(source.bytes)]);
  const yaml = readYaml(source.bytes.toString());
  if (yaml.kind === "invalid") return invalid(yaml.problems);
  const folder = dirname(resolve(file));
  const parsed = parseConfig(yaml.tree, env, (path) => {
    const named = resolve(folder, path);
    files.add(named);
    if (only?.includes(named) === false) return NOT_NAMED;
    return readBytes(named);
  });
  if (parsed.kind === "invalid") {
    const located = parsed.problems.map((problem) => {
      return { ...problem, line: yaml.lineOf(problem.path) };
    });
    // The order of the file, so that one can go through it from top to bottom.
    return invalid(
      located.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)),
      parsed.taken,
    );
  }
  return { ...parsed, files: [...files], hash: configHash(parsed.config) };
}

function notUtf8(bytes: Buffer): LocatedProblem {
  const decoded = Buffer.from(bytes.toString());
  const at = decoded.findIndex((byte, index) => byte !== bytes[index]);
  const line = bytes.subarray(0, at).toString("latin1").split("\n").length;
  const hint = "save the file as UTF-8";
  return { path: [], found: "bytes that are no UTF-8", expected: "text in UTF-8", hint, line };
}

const NOT_NAMED: FileBytes = {
  kind: "unreadable",
  why: "only files that the configuration in place names are read here",
};

/** No file of a configuration is as large. A larger one is not read at all. */
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
