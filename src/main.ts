/**
 * Command line to exit status. The only place that ends the process.
 *
 *   a stream cannot be written               then
 *   output, its reader has seen enough
 *     a command that only prints             ends at once, as done: `dead-letters list | head`
 *     any other                              goes on: its work does not depend on a reader
 *   output, for another cause (disk full)    goes on, and has failed
 *   errors and progress                      goes on
 */

import { runProgram } from "./cli/program.ts";
import { processShell } from "./operate/connect/shell.ts";

// Names are looked up on these threads, each for as long as its name server is silent (lookup.ts).
// Node starts them when the first one has something to do.
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
// Output to pipes is written asynchronously, and process.exit waits for nothing.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
process.exit(status === 0 && isOutputLost ? 1 : status);
