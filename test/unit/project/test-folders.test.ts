// What starts processes or opens sockets is no unit test: it lies in test/local, or, if it needs a
// Kafka, in test/integration. So `npm run check` stays quick, and quiet whatever the machine does.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const TEST = join(import.meta.dirname, "../..");
const SUPPORT = join(TEST, "support/");
const QUICK = ["unit", "property", "golden"];
const IMPORT = /^(?:import|export)\s+(?!type\s)[^"=;]*?from\s+"([^"]+)"/gm;
const EFFECTS = [
  /^node:(child_process|cluster|dgram|http|https|http2|net|tls)$/,
  /^undici$/,
  /\/src\/program\/run\/admin-server\.ts$/,
];

/** What a test imports that has effects, itself or through files of test/support. */
function effects(file: string, source: string, seen = new Set<string>()): string[] {
  return [...source.matchAll(IMPORT)].flatMap(([, module = ""]) => {
    if (EFFECTS.some((effect) => effect.test(module))) return [module];
    const target = join(dirname(file), module);
    if (!module.startsWith(".") || !target.startsWith(SUPPORT) || seen.has(target)) return [];
    seen.add(target);
    return effects(target, readFileSync(target, "utf8"), seen);
  });
}

const files = QUICK.flatMap((folder) =>
  readdirSync(join(TEST, folder), { encoding: "utf8", recursive: true })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join(TEST, folder, name)),
);

test("unit and property tests start no process and open no socket", () => {
  expect(files.length).toBeGreaterThan(100);
  const found = files.filter((file) => effects(file, readFileSync(file, "utf8")).length > 0);
  expect(found.map((file) => relative(TEST, file))).toEqual([]);
});

test.each([
  ['import { spawn } from "node:child_process";', "node:child_process"],
  ['import {\n  createServer,\n} from "node:net";', "node:net"],
  [
    'import { startAdmin } from "../../../src/program/run/admin-server.ts";',
    "../../../src/program/run/admin-server.ts",
  ],
  ['import { ingestWorld } from "../../support/worlds/ingest-world.ts";', "node:net"],
])("%j is found", (source, effect) => {
  expect(effects(join(TEST, "unit/ingest/x.test.ts"), source)).toEqual([effect]);
});
