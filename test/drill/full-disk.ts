/** The disk of the audience store becomes full, and later has room again. Everything else continues. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import { fillDisk, freeDisk, whyNoDisk } from "../support/script/small-disk.ts";
import { type Comparison, counted, worded } from "./comparison.ts";
import { fineOf } from "./drilled-world.ts";
import { type Look, metric } from "./look.ts";
import type { LoneHealthProblem } from "./problem.ts";
import { PARTITIONS, type Product } from "./product.ts";
import { exactly, lone, own } from "./program-problems.ts";

const NAME = "full-disk";
/** IDs are long, so that a few users take more room than the end of a file has. */
const USERS = 3_000;
const ID_LENGTH = 1_000;

const drilled = lone(NAME, "the disk of the audience store is full", {
  product: { hasDisk: true },
  make: async (product) => {
    fillDisk(product.disk);
    await publishAudience(product);
  },
  said: (look) => [
    ...fineOf(look, { problem: NAME, isAlways: true }),
    own(NAME, [...signals(look, "named", { from: 1, to: PARTITIONS })]),
  ],
  mend: (product) => Promise.resolve(freeDisk(product.disk)),
  mended: (look) => [
    own(NAME, [
      ...signals(look, "silent", exactly(0)),
      counted("metrics: members", metric(look, METRICS.audienceMembers), exactly(USERS)),
    ]),
  ],
});

export const FULL_DISK: LoneHealthProblem = {
  ...drilled,
  run: async (options) => {
    const directory = mkdtempSync(join(tmpdir(), "switchyard-drill-"));
    const why = whyNoDisk(directory);
    rmSync(directory, { recursive: true });
    if (why === null) return drilled.run(options);
    options.say(`skipped: ${why}`);
    return [];
  },
};

async function publishAudience(product: Product): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), "switchyard-drill-")), "users.txt");
  const ids = Array.from({ length: USERS }, (_, index) => `${index}-`.padEnd(ID_LENGTH, "u"));
  writeFileSync(file, `${ids.join("\n")}\n`);
  try {
    const command = ["audience", "publish", "--name", "Drilled", "--file", file];
    const { status, err } = await product.command(command);
    if (status !== 0) throw new Error(`the audience cannot be published: ${err}`);
  } finally {
    rmSync(join(file, ".."), { recursive: true });
  }
}

/** @param error whether `/readyz` reports the failure. */
function signals(
  look: Look,
  error: "named" | "silent",
  stores: { readonly from: number; readonly to: number },
): readonly Comparison[] {
  const { ready, status, lines } = look;
  const healthProblems = ready?.parts.audience ?? [];
  const isNamed = healthProblems.some((problem) => problem.includes("No space left on device"));
  const reported = lines.some(({ msg }) => msg === "stage.restarting");
  const ended = lines.some(({ msg }) => msg === "stage.failed");
  const inStatus = status.report?.processes[0]?.stateStoresUnavailable ?? null;
  return [
    counted("metrics: stores", metric(look, METRICS.audienceStoresUnavailable), stores),
    counted("status: stores", inStatus, stores),
    worded("readyz: the error", isNamed ? "named" : "silent", [error]),
    worded("readyz: its status", `${ready?.status}`, ["200"]),
    worded("log: stage.restarting", reported ? "there" : "absent", ["there"]),
    worded("log: the program ends", ended ? "ends" : "goes on", ["goes on"]),
  ];
}
