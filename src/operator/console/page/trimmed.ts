/** Removes the part at the start of a series in which nothing was measured. Pure. */

import type { Series } from "../view.ts";

/** With fewer steps than this, each step would be stretched in the plot. */
const STEPS_MIN = 15;

export function trimmed<Name extends string>(series: Series<Name>): Series<Name> {
  const rows = Object.values(series.values) as readonly (readonly (number | null)[])[];
  const length = rows[0]?.length ?? 0;
  const firsts = rows.map((row) => row.findIndex((value) => value !== null));
  const first = Math.min(...firsts.map((at) => (at < 0 ? length : at)), length - STEPS_MIN);
  const cut = Math.max(0, first);
  if (cut === 0) return series;
  const values = Object.fromEntries(
    Object.entries(series.values).map(([name, row]) => [
      name,
      (row as readonly (number | null)[]).slice(cut),
    ]),
  );
  const fromMs = series.fromMs + cut * series.stepMs;
  return { ...series, fromMs, values: values as unknown as Series<Name>["values"] };
}
