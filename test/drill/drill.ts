/** Runs drills: those of destinations concurrently, the others one after another. */

import { table } from "../../src/words/table.ts";
import type { Row } from "./judge.ts";
import { drillSideBySide } from "./side-by-side.ts";
import type {
  DestinationHealthProblem,
  DrillOptions,
  HealthProblem,
  LoneHealthProblem,
} from "./trouble.ts";

export async function drill(
  healthProblems: readonly HealthProblem[],
  options: DrillOptions,
): Promise<readonly Row[]> {
  const isOfDestination = (trouble: HealthProblem): trouble is DestinationHealthProblem =>
    trouble.kind === "destination";
  const isLone = (trouble: HealthProblem): trouble is LoneHealthProblem => trouble.kind === "alone";
  const rows: Row[] = [];
  const together = healthProblems.filter(isOfDestination);
  if (together.length > 0) rows.push(...(await drillSideBySide(together, options)));
  for (const { name, run } of healthProblems.filter(isLone)) {
    const say = (line: string) => options.say(`${name}: ${line}`);
    rows.push(...(await run({ ...options, say })));
  }
  return rows;
}

export function drillTable(rows: readonly Row[]): string {
  const cells = rows.map(({ trouble, phase, about, signal, said, truth, afterMs, ok }) => [
    trouble,
    phase,
    about === trouble ? signal : `${about}, ${signal}`,
    said,
    truth,
    afterMs === null ? "-" : `${Math.round(afterMs / 1_000)} s`,
    ok ? "yes" : "NO",
  ]);
  return table(["TROUBLE", "WHEN", "SIGNAL", "SAID", "TRUTH", "AFTER", "TRUE"], cells);
}
