/**
 * Provides Helm 3 and 4: the Helm of the PATH if it has the required major version; otherwise, Go builds it from its
 * module, once per machine.
 */

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";

import { findTool, goInstall, type Tool } from "../../../tools/find-tool.ts";

const ROOT = join(import.meta.dirname, "../../..");
export const CHART = join(ROOT, "deploy/helm/switchyard");
const VERSIONS = { 3: "3.22.0", 4: "4.3.1" } as const;
/**
 * The version of Kubernetes for which charts are rendered. It is built into Helm 4; Helm 3 gets it when it is built.
 */
const KUBERNETES_MINOR = 37;
const FLAGS = {
  3: [
    "-ldflags",
    ["pkg/chartutil", "pkg/lint/rules"]
      .map((name) => `-X helm.sh/helm/v3/${name}.k8sVersion`)
      .flatMap((name) => [`${name}Major=1`, `${name}Minor=${KUBERNETES_MINOR}`])
      .join(" "),
  ],
  4: [],
};
const execute = promisify(execFile);

export type HelmMajor = keyof typeof VERSIONS;
export const HELM_MAJORS = [3, 4] as const;

const PROGRAMS = { 3: await findHelm(3), 4: await findHelm(4) };

/** A reason to skip, or null. */
export const NO_HELM =
  HELM_MAJORS.map((major) => PROGRAMS[major])
    .filter((tool) => tool.kind === "none")
    .map(({ why }) => why)
    .join("; ") || null;

async function findHelm(major: HelmMajor): Promise<Tool> {
  const { stdout } = await execute("helm", ["version", "--short"]).catch(() => ({ stdout: "" }));
  if (stdout.startsWith(`v${major}.`)) return { kind: "file", file: "helm" };
  const version = VERSIONS[major];
  const source = {
    what: `Helm ${version}`,
    size: "100 MB",
    name: `helm-${version}`,
    file: "helm",
    needs: "go",
    fill: goInstall(`helm.sh/helm/v${major}/cmd/helm@v${version}`, ...FLAGS[major]),
  };
  return await findTool(source, new AbortController().signal, (line) =>
    process.stderr.write(`helm: ${line}\n`),
  );
}

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a Helm command with a separate, unchanged home folder. */
export async function helm(major: HelmMajor, ...args: readonly string[]): Promise<Ran> {
  const home = join(tmpdir(), "switchyard-helm-home");
  const env = { PATH: process.env.PATH, HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home };
  const program = PROGRAMS[major];
  if (program.kind === "none") throw new Error(program.why);
  try {
    const ran = await execute(program.file, args, { env, maxBuffer: 64 * 1_048_576 });
    return { status: 0, out: ran.stdout, err: ran.stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code !== "number") throw error;
    return { status: code, out: stdout, err: stderr };
  }
}

/** Names of the value sets: `ci/NAME-values.yaml`. */
export const VALUE_SETS = readdirSync(join(CHART, "ci"))
  .filter((name) => name.endsWith("-values.yaml"))
  .map((name) => name.replace("-values.yaml", ""))
  .sort();

export function valuesFile(set: string): string {
  return join(CHART, "ci", `${set}-values.yaml`);
}

/** A resource, with a loose type for tests. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: tests look into resources of any kind.
  readonly [key: string]: any;
}

const RELEASE = ["template", "rel", CHART, "--namespace", "ns"];

/** The output of Helm for a value set. @throws Error if Helm rejects the values. */
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

/** The only resource of a kind or, if there are several, the one with the name. */
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

/** The error messages with which Helm rejects values, one line each. */
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
