// Runs a TypeScript file of this checkout with a Node that can: plain JavaScript for Node 20+.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
export const NODE_MAJOR = 24;
/** Why: docs/decisions/0007-garbage-collection.md */
export const NODE_FLAGS = [
  "--max-semi-space-size=16",
  "--initial-old-space-size=160",
  "--no-allocation-site-pretenuring",
  "--v8-pool-size=1",
];
/** The binary that the package `node` puts into the checkout. */
export const OWN_NODE = join(
  ROOT,
  "node_modules/node/bin",
  process.platform === "win32" ? "node.exe" : "node",
);

export function nodeMajor() {
  return Number(process.versions.node.split(".")[0]);
}

/** In this process: one less to pass signals and exit statuses through. */
export async function runHere(file, args) {
  process.argv = [process.execPath, file, ...args];
  await import(pathToFileURL(file).href);
}

/** In a child with the checkout's own Node. Ends this process as the child ends. */
export function runInChild(file, args) {
  const child = spawn(OWN_NODE, [...NODE_FLAGS, file, ...args], { stdio: "inherit" });
  // The terminal sends Ctrl-C to both; what is sent to this process alone is passed on.
  const isInteractive = process.stdin.isTTY || process.stdout.isTTY;
  process.on("SIGINT", () => {
    if (!isInteractive) child.kill("SIGINT");
  });
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`switchyard: ${OWN_NODE} cannot be run: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (status, signal) => process.exit(exitStatus(status, signal)));
}

/** A shell's number for how a process ended. */
export function exitStatus(status, signal) {
  return signal === null ? (status ?? 1) : 128 + (constants.signals[signal] ?? 0);
}
