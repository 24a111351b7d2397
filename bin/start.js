// Starts src/main.ts. Stripping types and compiling take a short command most of its time, so both
// are kept for the next one.
//
//   `run`                                    keeps nothing: it lives long, and its memory is as
//                                            measured (docs/decisions/0007-garbage-collection.md)
//   another command                          keeps it below node_modules, a folder of whoever owns
//                                            the checkout: one that anybody can write can plant code
//   the folder cannot be written             nothing is kept

import { enableCompileCache } from "node:module";
import { join } from "node:path";

import { ROOT } from "./node-24.js";

if (process.argv[2] !== "run") enableCompileCache(join(ROOT, "node_modules/.cache/switchyard"));
await import("../src/main.ts");
