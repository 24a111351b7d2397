/** Formats cells that several tables of the status contain. */

import { instantText } from "../connect/instant.ts";

const DAY_MS = 86_400_000;

/** Formats a count or a rate. A rate below 10 that is not an integer gets one decimal place. */
export function countText(count: number | null): string {
  if (count === null) return "-";
  return (count < 10 ? count : Math.round(count)).toLocaleString("en");
}

/** The time of day in UTC. If the time is more than a day ago, the date is included. */
export function sinceText(at: string, nowMs: number): string {
  const text = instantText(Date.parse(at));
  return nowMs - Date.parse(at) < DAY_MS ? text.slice(11) : text;
}

/** Right-aligns numbers and `-`. */
export function alignRight(
  rows: readonly (readonly string[])[],
  head: readonly string[],
  columns: readonly number[],
): { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] } {
  const all = [head, ...rows];
  const widths = head.map((_, column) =>
    all.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0),
  );
  const pad = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      columns.includes(column) ? cell.padStart(widths[column] ?? 0) : cell,
    );
  return { head: pad(head), rows: rows.map(pad) };
}
