/**
 * Loads every command, and all that `run` needs, and ends. The image's build runs it, so that their
 * code is kept compiled (`deploy/Dockerfile`).
 */

import { COMMANDS } from "./command-table.ts";

for (const { load } of COMMANDS) await load();
await import("./program.ts");
await import("./shell.ts");
await import("./cluster.ts");
await import("../config/load.ts");
await import("./run/run.ts");
