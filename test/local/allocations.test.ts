// The number of bytes of JavaScript's heap that a record costs in each stage. If a call becomes more expensive, this
// test fails. Unlike time, the figure is the same on a busy machine, to within 1 %, because functions are compiled when
// they are called often enough, and not some time later.
//
// If this fails, the change has made a record more expensive (or cheaper). To see where, run `node --heap-prof
// bench/allocations-work.ts route`. If the change is worth it, write the new figure here. `npm run bench -- against
// COMMIT` measures the cost in time.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const SHARE_MAX = 0.05;
const LIMIT_KB = 900_000;

test.each<[stage: string, what: string, bytes: number]>([
  ["route", "a call of 1 KB to five destinations", 6_025],
  ["deliver", "a delivery that is accepted", 7_505],
  ["deliver 100", "a delivery that is accepted with 99 others", 6_275],
  ["delay", "a delivery that is due", 2_588],
])("%s: %s takes about %i bytes of the heap", async (stage, _what, bytes) => {
  const work = [join(ROOT, "bench/allocations-work.ts"), ...stage.split(" ")];
  const args = ["--no-concurrent-recompilation", ...work];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const share = Number(stdout) / bytes - 1;
  expect(Math.abs(share), `${stdout.trim()} bytes`).toBeLessThan(SHARE_MAX);
});

test("route: calls that 200 destinations rewrite fit into little memory", async () => {
  const work = join(ROOT, "test/support/worlds/route-in-little-memory.ts");
  // Without the limit of the stage, the deliveries alone need 500 MB. Node reserves 600 MB, and uses 150 MB.
  const limited = `ulimit -d ${LIMIT_KB} && exec "$@"`;
  const args = ["bash", process.execPath, work, "1000", "200", "2400"];
  const { stdout } = await promisify(execFile)("bash", ["-c", limited, ...args]);
  expect(stdout).toBe("200000");
});
