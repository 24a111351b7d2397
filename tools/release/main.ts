/**
 * `npm run release -- --registry HOST/PATH --base-digest sha256:...`: builds, signs and pushes the parts of a release.
 * With --dry-run, prints the commands, and creates only the bill of materials.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

import { findOnPath } from "../kafka/java-home.ts";
import { ROOT } from "../steps.ts";
import {
  DIGEST,
  OUT,
  PRODUCTION,
  productionOnly,
  type Release,
  releaseSteps,
  type Step,
} from "./plan.ts";

const USAGE = `npm run release -- --registry HOST/PATH --base-digest sha256:... [--npm] [--source URL] [--dry-run]

  --registry      registry to which the image and the chart are pushed, such as registry.example.com/team
  --base-digest   digest of the base image in deploy/Dockerfile: docker buildx imagetools inspect node:...
  --npm           also publishes the package for applications
  --source        address of the sources, for the image's labels
  --dry-run       only prints the commands, and writes the bill of materials
`;

/** An error that is printed without its stack. */
class Problem extends Error {}

try {
  release();
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}

function release(): void {
  const { isDry, ...chosen } = options();
  const plan: Release = { ...chosen, ...ofRepository() };
  if (!isDry) assertReady(plan);
  writeProduction();
  for (const step of releaseSteps(plan)) {
    process.stdout.write(`${step.name}: ${step.command.map(quoted).join(" ")}\n`);
    if (!isDry || step.to !== undefined) carryOut(step);
  }
  if (!plan.hasCosign) process.stdout.write("not signed: cosign is not on the PATH\n");
}

function writeProduction(): void {
  const read = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));
  const { manifest, lock } = productionOnly(read("package.json"), read("package-lock.json"));
  mkdirSync(join(ROOT, PRODUCTION), { recursive: true });
  writeFileSync(join(ROOT, PRODUCTION, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(ROOT, PRODUCTION, "package-lock.json"), JSON.stringify(lock));
}

function options() {
  const { values } = parseArgs({
    options: {
      registry: { type: "string" },
      "base-digest": { type: "string" },
      source: { type: "string" },
      npm: { type: "boolean", default: false },
      "dry-run": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const registry = values.registry ?? "";
  const baseDigest = values["base-digest"] ?? "";
  if (values.help || !/^[\w.:-]+(?:\/[\w.-]+)*$/.test(registry)) throw new Problem(USAGE);
  if (!/^sha256:[\da-f]{64}$/.test(baseDigest))
    throw new Problem(`--base-digest is not a digest\n\n${USAGE}`);
  const isDry = values["dry-run"];
  return { registry, baseDigest, source: values.source ?? null, publishesNpm: values.npm, isDry };
}

function ofRepository() {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return {
    version,
    revision: output("git", "rev-parse", "HEAD"),
    createdAt: output("git", "log", "-1", "--format=%cI"),
    hasCosign: findOnPath("cosign") !== null,
    hasChart: existsSync(join(ROOT, "deploy/helm/switchyard/Chart.yaml")),
  };
}

/** Only a tagged commit without local changes may be pushed. */
function assertReady({ version, hasChart }: Release): void {
  if (output("git", "status", "--porcelain") !== "")
    throw new Problem("there are uncommitted changes");
  const tag = `v${version}`;
  const tags = output("git", "tag", "--points-at", "HEAD").split("\n");
  if (!tags.includes(tag)) throw new Problem(`this commit does not have the tag ${tag}`);
  for (const tool of hasChart ? ["docker", "helm"] : ["docker"]) {
    if (findOnPath(tool) === null) throw new Problem(`${tool} is not on the PATH`);
  }
}

function carryOut({ name, command, to, cwd }: Step): void {
  const [file, ...args] = command.map((word) => word.replace(DIGEST, () => imageDigest()));
  const { status, stdout } = spawnSync(file ?? "", args, {
    cwd: join(ROOT, cwd ?? ""),
    encoding: "utf8",
    maxBuffer: 64 * 1_024 * 1_024,
    stdio: ["ignore", to === undefined ? "inherit" : "pipe", "inherit"],
  });
  if (status !== 0) throw new Problem(`${name} failed with status ${status}`);
  if (to === undefined) return;
  mkdirSync(join(ROOT, dirname(to)), { recursive: true });
  writeFileSync(join(ROOT, to), stdout);
}

function imageDigest(): string {
  const reported: unknown = JSON.parse(readFileSync(join(ROOT, OUT, "image.json"), "utf8"));
  const digest =
    typeof reported === "object" &&
    reported !== null &&
    Reflect.get(reported, "containerimage.digest");
  if (typeof digest !== "string") throw new Problem(`${OUT}/image.json does not contain a digest`);
  return digest;
}

function output(file: string, ...args: readonly string[]): string {
  const { status, stdout } = spawnSync(file, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Problem(`${file} ${args.join(" ")} failed`);
  return stdout.trim();
}

function quoted(word: string): string {
  return /^[\w@%+=:,./{}-]+$/.test(word) ? word : `'${word}'`;
}
