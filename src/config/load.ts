/** Reads the configuration file and the files it names. The only part of this folder that does. */

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

import type { Config } from "./config.ts";
import type { Environment } from "./fill.ts";
import { type Given, parseConfig } from "./parse.ts";
import type { FileText } from "./place.ts";
import type { Problem } from "./problem.ts";
import { readYaml } from "./yaml.ts";

export interface LocatedProblem extends Problem {
  /** Line of the file, from 1; null for what is not in the file. */
  readonly line: number | null;
}

export type Loaded =
  | {
      readonly kind: "config";
      readonly config: Config;
      /** For `config print`. */
      readonly given: Given;
      /** Sentences about what is allowed and most likely a mistake. */
      readonly warnings: readonly string[];
    }
  /** Every problem at once, at least one. */
  | { readonly kind: "invalid"; readonly problems: readonly LocatedProblem[] };

export interface LoadOptions {
  /** Path of the YAML file. */
  readonly file: string;
  /** The environment at process start. */
  readonly env: Environment;
}

/** Never throws for what is wrong with the configuration, nor for files that cannot be read. */
export function loadConfig({ file, env }: LoadOptions): Loaded {
  const source = readText(file);
  if (source.kind === "unreadable") {
    const expected = "a configuration file that can be read";
    const found = `${file}, which cannot be read: ${source.why}`;
    return { kind: "invalid", problems: [{ path: [], found, expected, hint: null, line: null }] };
  }
  const yaml = readYaml(source.text);
  if (yaml.kind === "invalid") return yaml;
  const folder = dirname(resolve(file));
  const parsed = parseConfig(yaml.tree, env, (path) => readText(resolve(folder, path)));
  if (parsed.kind === "invalid") {
    const located = parsed.problems.map((problem) => {
      return { ...problem, line: yaml.lineOf(problem.path) };
    });
    // The order of the file, so that one can go through it from top to bottom.
    return { kind: "invalid", problems: located.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) };
  }
  return parsed;
}

function readText(path: string): FileText {
  try {
    return { kind: "text", text: readFileSync(path, "utf8") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    return { kind: "unreadable", why: WHY[String(code)] ?? String(code ?? error) };
  }
}

const WHY: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is no folder",
};
