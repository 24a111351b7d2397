/** Runs drills: those of destinations concurrently, the others one after another. */

import { table } from "../../src/base/words/table.ts";
import type { Row } from "./judge.ts";
import type {
  DestinationHealthProblem,
  DrillOptions,
  HealthProblem,
  LoneHealthProblem,
} from "./problem.ts";
import { drillSideBySide } from "./side-by-side.ts";

export async function drill(
  healthProblems: readonly HealthProblem[],
  options: DrillOptions,
): Promise<readonly Row[]> {
  const isOfDestination = (problem: HealthProblem): problem is DestinationHealthProblem =>
    problem.kind === "destination";
  const isLone = (problem: HealthProblem): problem is LoneHealthProblem => problem.kind === "alone";
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
  const cells = rows.map(({ problem, phase, about, signal, said, truth, afterMs, ok }) => [
    problem,
    phase,
    about === problem ? signal : `${about}, ${signal}`,
    said,
    truth,
    afterMs === null ? "-" : `${Math.round(afterMs / 1_000)} s`,
    ok ? "yes" : "NO",
  ]);
  return table(["PROBLEM", "WHEN", "SIGNAL", "SAID", "TRUTH", "AFTER", "TRUE"], cells);
}
