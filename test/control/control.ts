/** Controls two processes under load, one step after the other, and compares each step with the ledger. */

import { table } from "../../src/base/words/table.ts";
import { ControlledWorld, type WorldOptions } from "./controlled-world.ts";
import type { Row, Rows } from "./row.ts";
import { cancelAndReplay } from "./steps/cancel.ts";
import { configuredPause, pauseAndResume } from "./steps/pause.ts";
import { replayCalls, resumedReplay } from "./steps/replay.ts";
import { retryAndDrain } from "./steps/retry.ts";
import { traces } from "./steps/timeline.ts";

type Step = (world: ControlledWorld) => Promise<Rows>;

/** The steps in order: later steps use what earlier steps have done. */
const STEPS: readonly Step[] = [
  pauseAndResume,
  configuredPause,
  retryAndDrain,
  cancelAndReplay,
  replayCalls,
  resumedReplay,
  traces,
];
/** The steps that no test of a single part covers. */
const SHORT: readonly Step[] = [
  pauseAndResume,
  retryAndDrain,
  cancelAndReplay,
  replayCalls,
  traces,
];

export interface ControlOptions extends WorldOptions {
  readonly isShort: boolean;
}

export async function control({ isShort, ...options }: ControlOptions): Promise<readonly Row[]> {
  await using world = await ControlledWorld.start(options);
  const rows: Row[] = [];
  for (const step of isShort ? SHORT : STEPS) rows.push(...(await step(world)).all);
  return rows;
}

export function controlTable(rows: readonly Row[]): string {
  const cells = rows.map(({ step, about, expected, seen, ok }) => [
    ...[step, about, expected, seen],
    ok ? "yes" : "NO",
  ]);
  return table(["STEP", "OF", "EXPECTED", "SEEN", "SAME"], cells);
}
