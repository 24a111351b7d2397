// Goes on as a file of this checkout, on a Node that can and with the flags that it
// should have: plain JavaScript for Node 20+.
//
//   this process                             the file runs
//   Node 24 with the flags                   in it
//   another one, which has process.execve    in its place: the same process, which npm and the
//                                            terminal know, without a parent that takes memory
//   an older Node                            in a child, which gets this one's signals

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
export const OWN_NODE = join(ROOT, "node_modules/node/bin/node");

export function nodeMajor() {
  return Number(process.versions.node.split(".")[0]);
}

/** @param node the binary to go on with. */
export async function goOn(node, file, args, flags = NODE_FLAGS) {
  if (node === process.execPath && hasAll(flags)) {
    process.argv = [process.execPath, file, ...args];
    await import(pathToFileURL(file).href);
    return;
  }
  // Those that somebody gave come last, so that they win.
  const given = node === process.execPath ? process.execArgv : [];
  const argv = [...flags, ...given, file, ...args];
  if (typeof process.execve === "function") {
    process.execve(node, [node, ...argv], process.env);
  } else {
    runInChild(node, argv);
  }
}

/** Whatever their values: somebody may have chosen others. */
function hasAll(flags) {
  const names = process.execArgv.map(nameOf);
  return flags.every((flag) => names.includes(nameOf(flag)));
}

function nameOf(flag) {
  return flag
    .split("=")[0]
    .replace(/^--no-?/, "--no-")
    .replaceAll("_", "-");
}

/** Ends this process as the child ends. */
function runInChild(node, argv) {
  const child = spawn(node, argv, { stdio: "inherit" });
  // The terminal sends Ctrl-C to both; what is sent to this process alone is passed on.
  const isInteractive = process.stdin.isTTY || process.stdout.isTTY;
  process.on("SIGINT", () => {
    if (!isInteractive) child.kill("SIGINT");
  });
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`switchyard: ${node} cannot be run: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (status, signal) => process.exit(exitStatus(status, signal)));
}

/** A shell's number for how a process ended. */
export function exitStatus(status, signal) {
  return signal === null ? (status ?? 1) : 128 + (constants.signals[signal] ?? 0);
}
