/**
 * Loads every command, and all that `run` needs, and ends. The image's build runs it, so that their
 * code is kept compiled (`deploy/Dockerfile`).
 */

import { COMMANDS } from "./command-table.ts";
import { STAGE_CODE } from "./run/start-stages.ts";

for (const { load } of COMMANDS) await load();
await import("./program.ts");
await import("./shell.ts");
await import("./cluster.ts");
await import("../config/load.ts");
await import("./run/run.ts");
for (const load of Object.values(STAGE_CODE)) await load();

// The entry as well: with a single file that is not compiled, Node loads its compiler of TypeScript at
// each start, which costs 14 MB and 150 ms.
process.argv.splice(2, Number.POSITIVE_INFINITY, "--version");
await import("../main.ts");
