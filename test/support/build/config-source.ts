/** Configurations for tests: a small valid one, and the problems of a changed one. */

import { type Problem, pathText } from "../../../src/base/settings/problem.ts";
import type { Config } from "../../../src/config/config.ts";
import type { Environment } from "../../../src/config/interpolate.ts";
import { type Parsed, parseConfig } from "../../../src/config/parse.ts";
import { printConfig } from "../../../src/config/print.ts";
import { readYaml } from "../../../src/config/yaml.ts";

export const SMALL = `
kafka: { brokers: [kafka-1:9092] }
sources:
  - { id: web, writeKey: k1, destinations: [hook] }
destinations:
  - { id: hook, type: webhook, endpoints: [{ url: "https://a.example.com/" }] }
`;

type Files = Readonly<Record<string, string>>;

export function parse(yaml: string, env: Environment = {}, files: Files = {}): Parsed {
  const read = readYaml(yaml);
  if (read.kind === "invalid") throw new Error(read.problems[0]?.found);
  return parseConfig(read.tree, env, (path) => {
    const text = files[path];
    if (text === undefined) return { kind: "unreadable", why: "there is no such file" };
    return { kind: "bytes", bytes: Buffer.from(text) };
  });
}

/** @throws Error with the problems, if there are any. */
export function config(yaml: string, env: Environment = {}, files: Files = {}): Config {
  const parsed = parse(yaml, env, files);
  if (parsed.kind === "config") return parsed.config;
  throw new Error(parsed.problems.map(({ path }) => pathText(path)).join());
}

export function problems(
  yaml: string,
  env: Environment = {},
  files: Files = {},
): readonly Problem[] {
  const parsed = parse(yaml, env, files);
  return parsed.kind === "invalid" ? parsed.problems : [];
}

/** The paths of the problems. */
export function problemPaths(yaml: string, env: Environment = {}): readonly string[] {
  return problems(yaml, env).map(({ path }) => pathText(path));
}

/** What `config print` shows. @throws Error if the configuration is invalid. */
export function printed(yaml: string, env: Environment = {}, files: Files = {}): string {
  const parsed = parse(yaml, env, files);
  if (parsed.kind === "config") return printConfig(parsed.given);
  throw new Error(JSON.stringify(parsed.problems));
}

/** @throws Error if the configuration is invalid. */
export function warnings(yaml: string): readonly string[] {
  const parsed = parse(yaml);
  if (parsed.kind === "config") return parsed.warnings;
  throw new Error(JSON.stringify(parsed.problems));
}
