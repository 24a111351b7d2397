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

import { runProgram } from "./cli/program.ts";
import { processShell } from "./operate/connect/shell.ts";

// A lookup of a host name blocks one of these threads until the name server responds (http/lookup.ts).
// Node starts these threads when the first one is needed, so the number can still be set here.
process.env.UV_THREADPOOL_SIZE ??= "12";

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
// Writes to pipes are asynchronous, and process.exit does not wait for them.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
process.exit(status === 0 && isOutputLost ? 1 : status);
