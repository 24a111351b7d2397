/**
 * Formats a table for the terminal. Each column is as wide as its widest cell, and two spaces separate columns. Cells
 * contain data, so characters that could control the terminal are escaped.
 */

import { visibleCell } from "../../domain/escape-control.ts";

/** @param paint called with whole cells that are already padded, so that colors do not shift columns. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  paint: (cell: string, row: number, column: number) => string = (cell) => cell,
): string {
  const cells = rows.map((row) => row.map(visibleCell));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[], row: number) =>
    texts.map((cell, column) => {
      const isLast = column === texts.length - 1;
      return paint(isLast ? cell : cell.padEnd(widths[column] ?? 0), row, column);
    });
  return [head, ...cells].map((row, index) => `${line(row, index - 1).join("  ")}\n`).join("");
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
