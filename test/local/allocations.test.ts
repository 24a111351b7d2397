// What a record costs in each stage, in bytes of JavaScript's heap: the guard against a call that
// becomes dearer unnoticed. Unlike time, the figure is the same on a busy machine, to 1 %.
//
// Where this fails, the change made a record dearer (or cheaper): see where by
// `node --heap-prof bench/allocations-work.ts route`. If what it brings is worth it, write the new figure
// here, and `npm run bench -- against COMMIT` says what it costs in time.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const SHARE_MAX = 0.05;

test.each<[stage: string, what: string, bytes: number]>([
  ["route", "a call of 1 KB to five destinations", 5_510],
  ["deliver", "a delivery that is accepted", 7_290],
  ["deliver 100", "a delivery that is accepted with 99 others", 6_240],
  ["delay", "a delivery that is due", 1_930],
])("%s: %s takes about %i bytes of the heap", async (stage, _what, bytes) => {
  const work = [join(ROOT, "bench/allocations-work.ts"), ...stage.split(" ")];
  const { stdout } = await promisify(execFile)(process.execPath, work, { cwd: ROOT });
  const share = Number(stdout) / bytes - 1;
  expect(Math.abs(share), `${stdout.trim()} bytes`).toBeLessThan(SHARE_MAX);
});
