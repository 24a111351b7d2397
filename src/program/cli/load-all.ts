/**
 * Loads every command and everything that `run` needs. The build of the image imports this file before the entry file,
 * so that the compiled code is cached in the image (`deploy/Dockerfile`).
 */

import { openTransport } from "../../router/destinations/index.ts";
import { STAGE_CODE } from "../run/start-stages.ts";
import { COMMANDS } from "./command-table.ts";

for (const { load } of COMMANDS) await load();
await import("./program.ts");
await import("../../operator/connect/shell.ts");
await import("../../operator/connect/cluster.ts");
await import("../../config/load.ts");
await import("../run/run.ts");
for (const load of Object.values(STAGE_CODE)) await load();
// Opening a transport loads the code that sends requests.
const egress = { ca: null, proxy: null, proxyCa: null };
await openTransport({ timeoutMs: 1, allowNetworks: [], connectionMaxAgeMs: 1, ...egress });
