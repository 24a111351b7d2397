/** A table for people: columns as wide as their widest cell, two blanks between them. */

/** @param paint is given whole cells, already padded, so that colours do not shift columns. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  paint: (cell: string, row: number, column: number) => string = (cell) => cell,
): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[], row: number) =>
    cells.map((cell, column) => {
      const isLast = column === cells.length - 1;
      return paint(isLast ? cell : cell.padEnd(widths[column] ?? 0), row, column);
    });
  return [head, ...rows].map((row, index) => `${line(row, index - 1).join("  ")}\n`).join("");
}
