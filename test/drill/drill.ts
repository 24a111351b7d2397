/** Drills troubles: those of destinations side by side, the others one after the other. */

import { table } from "../../src/words/table.ts";
import type { Row } from "./judge.ts";
import { drillSideBySide } from "./side-by-side.ts";
import type { DestinationTrouble, DrillOptions, LoneTrouble, Trouble } from "./trouble.ts";

export async function drill(
  troubles: readonly Trouble[],
  options: DrillOptions,
): Promise<readonly Row[]> {
  const isOfDestination = (trouble: Trouble): trouble is DestinationTrouble =>
    trouble.kind === "destination";
  const isLone = (trouble: Trouble): trouble is LoneTrouble => trouble.kind === "alone";
  const rows: Row[] = [];
  const together = troubles.filter(isOfDestination);
  if (together.length > 0) rows.push(...(await drillSideBySide(together, options)));
  for (const { name, run } of troubles.filter(isLone)) {
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
