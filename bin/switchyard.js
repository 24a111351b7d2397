#!/usr/bin/env node
// Starts bin/start.js with Node 24 or later, which runs TypeScript directly. If this is an older Node, uses
// the one that `npm ci` installs in the checkout.
//
//   `run`             has the V8 flags of docs/decisions/0007-garbage-collection.md
//   another command   has no flags: flags that change how V8 compiles prevent it from using the code that
//                     Node ships compiled, and `--help` would take 50 % longer

import { existsSync } from "node:fs";
import { join } from "node:path";

import { goOn, NODE_FLAGS, NODE_MAJOR, nodeMajor, OWN_NODE, ROOT } from "./node-24.js";

const MAIN = join(ROOT, "bin/start.js");
const args = process.argv.slice(2);
const flags = args[0] === "run" ? NODE_FLAGS : [];

if (nodeMajor() >= NODE_MAJOR) {
  await goOn(process.execPath, MAIN, args, flags);
} else if (existsSync(OWN_NODE)) {
  await goOn(OWN_NODE, MAIN, args, flags);
} else {
  process.stderr.write(
    `Switchyard requires Node ${NODE_MAJOR} or later, but this is Node ${process.versions.node}. ` +
      `Run \`npm ci\` in this checkout to install a local Node ${NODE_MAJOR}.\n`,
  );
  process.exitCode = 1;
}
