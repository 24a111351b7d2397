/** Replaces the generated parts of pages, which are between marks. The rest of a page is written by hand. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export function readPage(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/**
 * Returns the page with these parts, each between the marks with its name.
 *
 * @throws Error if the page does not have the marks of a part.
 */
export function pageWith(path: string, parts: Readonly<Record<string, string>>): string {
  let page = readPage(path);
  for (const [name, text] of Object.entries(parts)) {
    const begin = `<!-- ${name}: \`npm run docs\` writes this -->\n`;
    const from = page.indexOf(begin);
    const to = page.indexOf(`<!-- end of ${name} -->\n`);
    if (from < 0 || to < from) throw new Error(`${path} has no marks for ${name}`);
    page = `${page.slice(0, from + begin.length)}${text.trimEnd()}\n${page.slice(to)}`;
  }
  return page;
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(header), `|${"---|".repeat(header.length)}`, ...rows.map(line)].join("\n");
}

export function code(text: string): string {
  return `\`${text}\``;
}
