/** `bench/RESULTS.md`: the latest table of each bench, under a heading of its own. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = join(import.meta.dirname, "RESULTS.md");
const HEAD = `# Results

Each part is what \`npm run bench -- NAME --write\` printed last. Only ratios within one run mean
anything elsewhere: other machines, and other work on the same one, move everything else.
`;

/** Puts a bench's part in place of its last one; parts stand in the order of `names`. */
export function writeResult(names: readonly string[], name: string, text: string): void {
  const parts = existsSync(FILE) ? readParts(readFileSync(FILE, "utf8")) : new Map();
  parts.set(name, text.trim());
  const known = names.filter((each) => parts.has(each));
  const body = known.map((each) => `## ${each}\n\n${parts.get(each)}\n`);
  writeFileSync(FILE, [HEAD, ...body].join("\n"));
}

function readParts(text: string): Map<string, string> {
  const [, ...parts] = text.split(/^## /m);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end).trim(), part.slice(end).trim()];
    }),
  );
}
