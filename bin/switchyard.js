#!/usr/bin/env node
// Starts bin/start.js with Node 24 or newer, which runs TypeScript as it is: with this one when it
// is one, else with the one that `npm ci` put into the checkout.
//
//   `run`             has the V8 flags of docs/decisions/0007-garbage-collection.md
//   another command   has none: with flags that change how V8 compiles, it would not take what Node brings
//                     compiled, and `--help` would take half as long again

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
    `switchyard: Node ${process.versions.node} cannot run this, it needs Node ${NODE_MAJOR}. ` +
      "Install that, or run `npm ci` in the checkout, which brings one.\n",
  );
  process.exitCode = 1;
}
