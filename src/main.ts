/** Command line to exit status. The only place that ends the process. */

import { runProgram } from "./cli/program.ts";
import { processShell } from "./cli/shell.ts";

// Names are looked up on these threads, each for as long as its name server is silent (lookup.ts).
// Node starts them when the first one has something to do.
process.env.UV_THREADPOOL_SIZE ??= "12";

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

const status = await runProgram(process.argv.slice(2), processShell());
// Output to pipes is written asynchronously, and process.exit waits for nothing.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
process.exit(status);
