/** The rows and columns of the table of skipped calls. Pure. */

import { SKIP_REASONS, type SkipReason } from "../../../base/words/reasons.ts";
import type { DestinationView } from "../view.ts";

export type SkippedSeries = DestinationView["skipped"];

export interface SkippedHour {
  readonly at: string;
  readonly counts: Readonly<Partial<Record<SkipReason, number>>>;
}

/** The reasons that occurred; null if there are no counts. */
export function reasonsOf({ values }: SkippedSeries): readonly SkipReason[] | null {
  const isMeasured = SKIP_REASONS.some((reason) => values[reason].some((count) => count !== null));
  if (!isMeasured) return null;
  return SKIP_REASONS.filter((reason) => values[reason].some((count) => (count ?? 0) > 0));
}

/** The latest first. */
export function hoursOf(
  { fromMs, stepMs, values }: SkippedSeries,
  reasons: readonly SkipReason[],
): readonly SkippedHour[] {
  const length = Math.max(0, ...reasons.map((reason) => values[reason].length));
  return Array.from({ length }, (_, index) => {
    const counts = reasons.map((reason) => [reason, values[reason][index] ?? 0] as const);
    return {
      at: new Date(fromMs + index * stepMs).toISOString(),
      counts: Object.fromEntries(counts) as SkippedHour["counts"],
    };
  })
    .filter(({ counts }) => Object.values(counts).some((count) => count > 0))
    .toReversed();
}
