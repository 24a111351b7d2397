// Starts src/main.ts. A short command spends most of its time stripping types and compiling, so the result
// is cached for the next command.
//
//   `run`                         uses no cache: it is long-running, and its memory was measured without one
//                                 (docs/decisions/0007-garbage-collection.md)
//   another command               caches below node_modules, which belongs to the owner of the checkout: in a
//                                 folder that anybody can write to, others could plant code
//   the folder is not writable    nothing is cached

import { enableCompileCache } from "node:module";
import { join } from "node:path";

import { ROOT } from "./node-24.js";

if (process.argv[2] !== "run") enableCompileCache(join(ROOT, "node_modules/.cache/switchyard"));
await import("../src/main.ts");
