/** A table that is written between two marks of a page; the rest of the page is written by hand. */

/** @param name stands in the marks. */
export function withMarkedTable(
  page: string,
  name: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const begin = `<!-- ${name}: \`npm run docs\` writes this table -->\n`;
  const from = page.indexOf(begin);
  const to = page.indexOf(`<!-- end of ${name} -->\n`);
  if (from < 0 || to < from) throw new Error(`the page has no marks for the table of ${name}`);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  const rule = `|${"---|".repeat(header.length)}\n`;
  const table = line(header) + rule + rows.map(line).join("");
  return page.slice(0, from + begin.length) + table + page.slice(to);
}
