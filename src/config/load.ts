/** Reads the configuration file and the files it names. The only part of this folder that does. */

import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

import type { Config } from "./config.ts";
import type { Environment } from "./fill.ts";
import { type Given, parseConfig } from "./parse.ts";
import type { FileText } from "./place.ts";
import type { LocatedProblem } from "./problem.ts";
import { readYaml } from "./yaml.ts";

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

/** Never throws for a wrong configuration, nor for files that cannot be read. */
export function loadConfig({ file, env }: LoadOptions): Loaded {
  const source = readBytes(file);
  if (source.kind === "unreadable") {
    const expected = "a configuration file that can be read";
    const found = `${file}, which cannot be read: ${source.why}`;
    return { kind: "invalid", problems: [{ path: [], found, expected, hint: null, line: null }] };
  }
  // Decoded all the same, a secret would become another one.
  if (!isUtf8(source.bytes)) return { kind: "invalid", problems: [notUtf8(source.bytes)] };
  const yaml = readYaml(source.bytes.toString());
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

function notUtf8(bytes: Buffer): LocatedProblem {
  const decoded = Buffer.from(bytes.toString());
  const at = decoded.findIndex((byte, index) => byte !== bytes[index]);
  const line = bytes.subarray(0, at).toString("latin1").split("\n").length;
  const hint = "save the file as UTF-8";
  return { path: [], found: "bytes that are no UTF-8", expected: "text in UTF-8", hint, line };
}

/** Files of certificates may have comments in any encoding; the parts that count are ASCII. */
function readText(path: string): FileText {
  const file = readBytes(path);
  return file.kind === "bytes" ? { kind: "text", text: file.bytes.toString() } : file;
}

type FileBytes =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | Extract<FileText, { kind: "unreadable" }>;

function readBytes(path: string): FileBytes {
  try {
    return { kind: "bytes", bytes: readFileSync(path) };
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
