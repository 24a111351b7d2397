/**
 * Runs the command and exits with its status. No other file ends the process.
 *
 *   writing fails on                            then
 *   standard output, because the reader closed it
 *     a command that only prints                exits with 0 immediately: `dead-letters list | head`
 *     any other command                         continues, because its work does not depend on a reader
 *   standard output, for another reason         continues, and exits with 1
 *     (disk full)
 *   standard error                              continues
 */

import { processShell } from "./operator/connect/shell.ts";
import { runProgram } from "./program/cli/program.ts";

// A lookup of a host name blocks one of these threads until the name server responds (http/lookup.ts).
// Node starts these threads when the first one is needed, so the number can still be set here.
process.env.UV_THREADPOOL_SIZE ??= "12";

// Files that this command writes, such as memberships and heap dumps, contain data of users.
if (process.argv[2] === "run") process.umask(0o077);

let onlyPrints = false;
let isOutputLost = false;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") isOutputLost = true;
  else if (onlyPrints) process.exit(0);
});
process.stderr.on("error", () => undefined);

const shell = processShell(() => {
  onlyPrints = true;
});
const status = await runProgram(process.argv.slice(2), shell);
// Writes to pipes are asynchronous, and process.exit does not wait for them. An output to which nothing was written
// is not touched, because even an empty write fails if the device is full.
for (const stream of [process.stdout, process.stderr]) {
  if (stream.writableLength > 0) await new Promise<void>((done) => stream.write("", () => done()));
}
await new Promise(setImmediate);
process.exit(status === 0 && isOutputLost ? 1 : status);
