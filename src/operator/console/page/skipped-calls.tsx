/**
 * Shows why a destination did not get calls. There is a row for each hour in which calls were skipped, and a column
 * for each reason.
 */

import { SKIP_TEXTS } from "../../../base/words/reasons.ts";
import { Empty, Time } from "./parts.tsx";
import { hoursOf, reasonsOf, type SkippedHour, type SkippedSeries } from "./skipped-hours.ts";
import { type Column, Table } from "./table.tsx";

export function SkippedCalls({ series }: { readonly series: SkippedSeries }) {
  const reasons = reasonsOf(series);
  if (reasons === null) {
    return (
      <Empty>Unknown, because no process that runs the route stage has been polled yet.</Empty>
    );
  }
  if (reasons.length === 0) {
    return (
      <Empty>
        No calls have been skipped in the last 24 hours or, if that is less, since this console
        started.
      </Empty>
    );
  }
  const columns: readonly Column<SkippedHour>[] = [
    { label: "Hour from", of: ({ at }) => <Time at={at} /> },
    ...reasons.map((reason) => ({
      label: reason,
      isNumber: true,
      of: ({ counts }: SkippedHour) => (counts[reason] ?? 0).toLocaleString("en"),
    })),
  ];
  return (
    <>
      <ul class="flex">
        {reasons.map((reason) => (
          <li key={reason}>
            <b>{reason}</b>: {SKIP_TEXTS[reason]}
          </li>
        ))}
      </ul>
      <Table
        label="Skipped calls per hour"
        columns={columns}
        rows={hoursOf(series, reasons)}
        keyOf={({ at }) => at}
      />
      <p class="quiet">
        Calls that the destination did not get and will not get later. Hours without skipped calls
        are not shown.
      </p>
    </>
  );
}
