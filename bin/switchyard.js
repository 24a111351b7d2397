#!/usr/bin/env -S node --max-semi-space-size=16 --initial-old-space-size=160 --no-allocation-site-pretenuring --v8-pool-size=1
// Starts bin/start.js with Node 24 or newer, which runs TypeScript as it is: with this one when it
// is one, else with the one that `npm ci` put into the checkout.

import { existsSync } from "node:fs";
import { join } from "node:path";

import { goOn, NODE_MAJOR, nodeMajor, OWN_NODE, ROOT } from "./node-24.js";

const MAIN = join(ROOT, "bin/start.js");
const args = process.argv.slice(2);

if (nodeMajor() >= NODE_MAJOR) {
  await goOn(process.execPath, MAIN, args);
} else if (existsSync(OWN_NODE)) {
  await goOn(OWN_NODE, MAIN, args);
} else {
  process.stderr.write(
    `switchyard: Node ${process.versions.node} cannot run this, it needs Node ${NODE_MAJOR}. ` +
      "Install that, or run `npm ci` in the checkout, which brings one.\n",
  );
  process.exitCode = 1;
}
