/**
 * The web frameworks of docs/webhooks.md, on which the project does not depend. Each is installed once per machine, in
 * the folder of the project's other downloads.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { ensureDownloaded, runMaven } from "../../../tools/kafka/download.ts";
import { findJava, findOnPath } from "../../../tools/kafka/java-home.ts";

export const NODE_PACKAGES = {
  express: "5.3.0",
  fastify: "5.12.8",
  hono: "4.13.19",
  koa: "3.3.0",
  "raw-body": "3.0.2",
};
export const FLASK = "flask==3.1.3";
export const DJANGO = "django==5.2.19";

const SPRING_POM = join(import.meta.dirname, "spring/pom.xml");
const run = promisify(execFile);

/** The folder of the packages, or the reason why they are not available. */
export type Packages = { readonly folder: string } | { readonly reason: string };

let nodeOnce: Promise<Packages> | null = null;

/**
 * Installs the packages below `node_modules` in the folder. There is only one try, because a try takes long without a
 * network.
 */
export function nodePackages(signal: AbortSignal): Promise<Packages> {
  nodeOnce ??= npmPackages("frameworks for Node", NODE_PACKAGES, signal);
  return nodeOnce;
}

/** Installs packages that are not dependencies of the project. */
export async function npmPackages(
  what: string,
  dependencies: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Packages> {
  const manifest = JSON.stringify({ private: true, dependencies });
  return await had(what, hashOf(manifest), signal, async (target) => {
    writeFileSync(join(target, "package.json"), manifest);
    const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    await run("npm", args, { cwd: target, signal });
  });
}

/** Installs the jars in the folder. */
export async function springJars(signal: AbortSignal): Promise<Packages> {
  const java = findJava();
  if ("problem" in java) return { reason: `there is no Java: ${java.problem}` };
  if (findOnPath("javac") === null) return { reason: "there is no javac" };
  if (findOnPath("mvn") === null) return { reason: "there is no Maven" };
  const pom = readFileSync(SPRING_POM, "utf8");
  return await had("Spring Boot", hashOf(pom), signal, async (target) => {
    const goal = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies";
    const options = [`-DoutputDirectory=${target}`, "-DincludeScope=runtime"];
    await runMaven("Spring Boot", ["-f", SPRING_POM, goal, ...options], signal, () => undefined);
  });
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

async function had(
  what: string,
  hash: string,
  signal: AbortSignal,
  fill: (target: string) => Promise<void>,
): Promise<Packages> {
  const name = `${what.toLowerCase().replaceAll(" ", "-")}-${hash}`;
  try {
    const download = { what, size: "25 MB", name, fill };
    return { folder: await ensureDownloaded(download, signal, () => undefined) };
  } catch (error) {
    return { reason: `there is no ${what}: ${(error as Error).message.split("\n", 1)[0]}` };
  }
}
