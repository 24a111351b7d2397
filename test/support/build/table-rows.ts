/** Reads a table in which each line is a row, with ` | ` between its cells. */
export function tableRows<Row extends readonly string[] = [string, ...string[]]>(
  table: string,
): readonly Row[] {
  const lines = table.trim().split("\n");
  return lines.map((line) => line.trim().split(" | ") as readonly string[] as Row);
}
