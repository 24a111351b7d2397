/** Formats the result of a comparison of past calls as rows and sentences. Pure. */

import { isSkipReason, SKIP_TEXTS } from "../../words/reasons.ts";
import type { ComparedCallsView, CountedCalls } from "../query-view.ts";
import { counted } from "./action-text.ts";

export interface ComparedRow {
  readonly destination: string;
  readonly what: "gained" | "lost" | "changed";
  readonly calls: CountedCalls;
  readonly why: string;
}

/**
 * Returns the rows of each destination: the calls that it would gain, the calls that it would lose, by reason, and
 * the calls that would change.
 */
export function comparedRows({ destinations }: ComparedCallsView): readonly ComparedRow[] {
  return destinations.flatMap(({ destination, gained, lost, changed }) => {
    const properties = changed.properties.map(
      ([path, count]) => `${path} (${count.toLocaleString("en")})`,
    );
    const rows: readonly Omit<ComparedRow, "destination">[] = [
      { what: "gained", calls: gained, why: "" },
      ...lost.map(({ reason, ...calls }) => {
        const text = isSkipReason(reason) ? `: ${SKIP_TEXTS[reason]}` : "";
        return { what: "lost", calls, why: `${reason}${text}` } as const;
      }),
      { what: "changed", calls: changed, why: properties.join(", ") },
    ];
    return rows.filter(({ calls }) => calls.count > 0).map((row) => ({ destination, ...row }));
  });
}

/** The start of a sentence. The caller appends the time. */
export function comparedSummary({ calls, share, withoutSchema }: ComparedCallsView): string {
  const part = share < 1 ? `, a share of ${share * 100} %,` : "";
  const without =
    withoutSchema === 0
      ? ""
      : `${counted(withoutSchema, "call", "calls")} could not be compared, because the schema registry did not return the schema. `;
  return `${without}Compared ${counted(calls, "call", "calls")}${part} since`;
}
