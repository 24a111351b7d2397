// Runs a file of this checkout with Node 24 and the given flags. Plain JavaScript, because it also has to
// run with Node 20.
//
//   this process is                   the file runs
//   Node 24 with the flags            in this process
//   a Node with process.execve        in a new program that replaces this one: it keeps the process ID that
//                                     npm and the terminal know, and needs no parent process in memory
//   an older Node                     in a child process, which gets this one's signals

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT = resolve(fileURLToPath(import.meta.url), "../..");
export const NODE_MAJOR = 24;
/** For the reasons, see docs/decisions/0007-garbage-collection.md. */
export const NODE_FLAGS = [
  "--max-semi-space-size=16",
  "--initial-old-space-size=160",
  "--no-allocation-site-pretenuring",
  "--v8-pool-size=1",
];
/** The binary that the npm package `node` installs in the checkout. */
export const OWN_NODE = join(ROOT, "node_modules/node/bin/node");

export function nodeMajor() {
  return Number(process.versions.node.split(".")[0]);
}

/** @param node the Node binary to use. */
export async function goOn(node, file, args, flags = NODE_FLAGS) {
  if (node === process.execPath && hasAll(flags)) {
    process.argv = [process.execPath, file, ...args];
    await import(pathToFileURL(file).href);
    return;
  }
  // Flags from the command line come last, so that they take precedence.
  const given = node === process.execPath ? process.execArgv : [];
  const argv = [...flags, ...given, file, ...args];
  if (typeof process.execve === "function") {
    process.execve(node, [node, ...argv], process.env);
  } else {
    runInChild(node, argv);
  }
}

/** Compares only the names: the command line may set other values. */
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

/** Exits with the child's status. */
function runInChild(node, argv) {
  const child = spawn(node, argv, { stdio: "inherit" });
  // The terminal sends Ctrl-C to both processes; a signal that only this process gets is passed on.
  const isInteractive = process.stdin.isTTY || process.stdout.isTTY;
  process.on("SIGINT", () => {
    if (!isInteractive) child.kill("SIGINT");
  });
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`switchyard: cannot run ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (status, signal) => process.exit(exitStatus(status, signal)));
}

/** The exit status that a shell reports for a process that ended like this. */
export function exitStatus(status, signal) {
  return signal === null ? (status ?? 1) : 128 + (constants.signals[signal] ?? 0);
}
